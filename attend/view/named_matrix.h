// A matrix with optional names of rows and columns, as a person writes one:
//   "1 0; 0 1"                       rows end with ; or a new line, numbers are parted by spaces, tabs or commas
//   "1.75*64"                        a number 64 times
//   "student 1 0; painting 0 1"      a row may begin with its name
//   "étudiant tableau; 1 0; 0 1"     a first row without numbers names the columns
// and as NumPy saves one (.npy: floats or integers, one or two axes).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace attend::view {

struct NamedMatrix {
  std::size_t rows = 0, columns = 0;
  std::vector<double> values = {};                             // [rows, columns]
  std::vector<std::string> row_names = {}, column_names = {};  // empty, or one for each

  double at(std::size_t row, std::size_t column) const { return values[row * columns + column]; }
  std::string shape() const;  // "[2, 64]"
};

inline constexpr std::size_t kMostMatrixNumbers = std::size_t{1} << 22;

// Text or the bytes of a .npy file. Throws Error, naming what the matrix is called, when rows have different lengths, a
// number is not finite, or there is none, or there are more than `most`.
NamedMatrix read_matrix(std::string_view bytes, const std::string& name, std::size_t most = kMostMatrixNumbers);

}  // namespace attend::view
