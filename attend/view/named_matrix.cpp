#include "attend/view/named_matrix.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>

#include "attend/base/error.h"
#include "attend/base/text_check.h"

namespace attend::view {

namespace {

constexpr std::string_view kNumpyMagic("\x93NUMPY", 6);
constexpr std::string_view kBlank = " \t\r";

std::string_view stripped(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

// Commas part the fields where there are any, and then a name may have spaces and quotes; else white space does.
std::vector<std::string> fields_of(std::string_view row) {
  std::vector<std::string> fields;
  if (row.find(',') == std::string_view::npos) {
    for (std::size_t at = row.find_first_not_of(kBlank); at != std::string_view::npos;
         at = row.find_first_not_of(kBlank, at)) {
      const std::size_t end = std::min(row.find_first_of(kBlank, at), row.size());
      fields.emplace_back(row.substr(at, end - at));
      at = end;
    }
    return fields;
  }
  for (std::size_t at = 0; at <= row.size();) {
    const std::size_t end = std::min(row.find(',', at), row.size());
    std::string_view field = stripped(row.substr(at, end - at));
    if (field.size() >= 2 && field.front() == '"' && field.back() == '"') field = field.substr(1, field.size() - 2);
    fields.emplace_back(field);
    at = end + 1;
  }
  if (fields.size() > 1 && fields.back().empty()) fields.pop_back();  // a comma at the end of a row
  return fields;
}

// "inf" and "nan" are numbers here, so that they are refused as what they are and not taken for names.
std::optional<double> number_of(const std::string& field) {
  const char *begin = field.data() + (field.starts_with('+') ? 1 : 0), *end = field.data() + field.size();
  double value = 0;
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (begin == end || stop != end) return {};
  if (error == std::errc::result_out_of_range) return std::numeric_limits<double>::infinity();
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

// "1.75*64" is that number 64 times.
std::vector<std::string> repeated(const std::vector<std::string>& fields, const std::string& name, std::size_t most) {
  std::vector<std::string> all;
  for (const std::string& field : fields) {
    const std::size_t star = std::min(field.find('*'), field.size());
    const std::string number = field.substr(0, star);
    const std::optional<double> count = star < field.size() ? number_of(field.substr(star + 1)) : std::nullopt;
    if (!count || !number_of(number)) {
      all.push_back(field);
      continue;
    }
    check(*count >= 1 && *count <= static_cast<double>(most) && *count == std::floor(*count),
          "{}: '{}' repeats a number {} times", name, field, *count);
    check(all.size() + static_cast<std::size_t>(*count) <= most, "{}: more than {} numbers", name, most);
    all.insert(all.end(), static_cast<std::size_t>(*count), number);
  }
  return all;
}

void add_number(NamedMatrix& matrix, double value, const std::string& name) {
  check(std::isfinite(value), "{}: number {} is {}; only finite numbers can be computed with", name,
        matrix.values.size() + 1, value);
  check(matrix.values.size() < kMostMatrixNumbers, "{}: more than {} numbers", name, kMostMatrixNumbers);
  matrix.values.push_back(value);
}

// One row of text: a heading, or numbers with an optional name in front.
void add_row(NamedMatrix& matrix, const std::vector<std::string>& fields, const std::string& name) {
  const auto is_name = [](const std::string& field) { return !number_of(field); };
  if (matrix.rows == 0 && matrix.column_names.empty() && std::all_of(fields.begin(), fields.end(), is_name)) {
    matrix.column_names = fields;
    return;
  }
  const bool named = is_name(fields[0]);
  if (matrix.rows == 0) matrix.columns = fields.size() - (named ? 1 : 0);
  check(matrix.rows == 0 || named == !matrix.row_names.empty(), "{}: row {} {} a name, unlike the rows before it", name,
        matrix.rows + 1, named ? "has" : "lacks");
  if (named) matrix.row_names.push_back(fields[0]);
  const std::size_t count = fields.size() - (named ? 1 : 0);
  check(count == matrix.columns, "{}: row {} has {} numbers, row 1 has {}", name, matrix.rows + 1, count,
        matrix.columns);
  for (std::size_t i = named ? 1 : 0; i < fields.size(); ++i) {
    const std::optional<double> number = number_of(fields[i]);
    check(number.has_value(), "{}: '{}' in row {} is no number", name, fields[i], matrix.rows + 1);
    add_number(matrix, *number, name);
  }
  ++matrix.rows;
}

NamedMatrix read_text(std::string_view text, const std::string& name, std::size_t most) {
  check_is_text(text, name);
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  NamedMatrix matrix;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(";\n", at), text.size());
    const std::string_view row = stripped(text.substr(at, end - at));
    at = end + 1;
    if (!row.empty() && row.front() != '#') add_row(matrix, repeated(fields_of(row), name, most), name);
    check(matrix.values.size() <= most, "{}: more than {} numbers", name, most);
  }
  // A heading may also name the column of row names: "word,d1,d2".
  if (!matrix.row_names.empty() && matrix.column_names.size() == matrix.columns + 1)
    matrix.column_names.erase(matrix.column_names.begin());
  check(matrix.column_names.empty() || matrix.rows == 0 || matrix.column_names.size() == matrix.columns,
        "{}: {} names of columns for {} columns", name, matrix.column_names.size(), matrix.columns);
  return matrix;
}

template <class Number>
double number_at(const char* bytes) {
  Number value;
  std::memcpy(&value, bytes, sizeof value);
  return static_cast<double>(value);
}

struct NumpyHeader {
  std::string type;
  bool fortran = false;
  std::size_t rows = 1, columns = 1;
};

// {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
NumpyHeader read_numpy_header(std::string_view text, const std::string& name) {
  const auto after = [&](std::string_view key) {
    const std::size_t at = text.find(key);
    check(at != std::string_view::npos, "{}: no {} in the header of the .npy file", name, key);
    return stripped(text.substr(at + key.size()));
  };
  NumpyHeader header;
  const std::string_view type = after("'descr':");
  check(type.size() > 4 && type[0] == '\'', "{}: only .npy files of plain numbers are read", name);
  header.type = type.substr(1, std::min(type.find('\'', 1), type.size()) - 1);
  header.fortran = after("'fortran_order':").starts_with("True");
  std::string_view shape = after("'shape':");
  shape = shape.substr(0, std::min(shape.find(')'), shape.size()));
  std::vector<std::size_t> sizes;
  for (std::size_t at = 1; at < shape.size();) {
    const std::size_t end = std::min(shape.find(',', at), shape.size());
    const std::string_view word = stripped(shape.substr(at, end - at));
    at = end + 1;
    if (word.empty()) continue;
    std::size_t size = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), size);
    check(error == std::errc() && stop == word.data() + word.size() && size <= kMostMatrixNumbers,
          "{}: a shape of {}) is too large or no shape", name, shape);
    sizes.push_back(size);
  }
  check(sizes.size() == 1 || sizes.size() == 2, "{}: the .npy file has {} axes; a matrix has 2", name, sizes.size());
  if (sizes.size() == 2) header.rows = sizes[0];
  header.columns = sizes.back();
  return header;
}

NamedMatrix read_numpy(std::string_view bytes, const std::string& name) {
  check(bytes.size() >= 12, "{}: the .npy file is cut short", name);
  const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i])); };
  const bool first = byte(6) == 1;
  const std::size_t begin = first ? 10 : 12,
                    length = byte(8) + 256 * byte(9) + (first ? 0 : 65536 * byte(10) + 16777216 * byte(11));
  check(bytes.size() - begin >= length, "{}: the .npy file is cut short", name);
  const NumpyHeader header = read_numpy_header(bytes.substr(begin, length), name);
  using Reader = double (*)(const char*);
  const std::pair<std::string_view, Reader> kTypes[] = {
      {"<f4", number_at<float>},        {"<f8", number_at<double>},      {"<i4", number_at<std::int32_t>},
      {"<i8", number_at<std::int64_t>}, {"|i1", number_at<std::int8_t>}, {"|u1", number_at<std::uint8_t>}};
  const auto type =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](const auto& known) { return known.first == header.type; });
  check(type != std::end(kTypes), "{}: numbers of type '{}' are not read; save float32 or float64", name, header.type);
  const std::size_t width = static_cast<std::size_t>(header.type[2] - '0'), count = header.rows * header.columns;
  check(count <= kMostMatrixNumbers, "{}: more than {} numbers", name, kMostMatrixNumbers);
  check((bytes.size() - begin - length) / width >= count, "{}: the .npy file is cut short", name);
  NamedMatrix matrix{.rows = header.rows, .columns = header.columns};
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t row = i / header.columns, column = i % header.columns,
                      at = header.fortran ? column * header.rows + row : i;
    add_number(matrix, type->second(bytes.data() + begin + length + at * width), name);
  }
  return matrix;
}

}  // namespace

std::string NamedMatrix::shape() const { return fmt::format("[{}, {}]", rows, columns); }

NamedMatrix read_matrix(std::string_view bytes, const std::string& name, std::size_t most) {
  NamedMatrix matrix = bytes.starts_with(kNumpyMagic) ? read_numpy(bytes, name) : read_text(bytes, name, most);
  check(matrix.values.size() <= most, "{}: more than {} numbers", name, most);
  check(matrix.rows > 0, "{}: no rows of numbers", name);
  check(matrix.columns > 0, "{}: d = 0; a row needs at least one number", name);
  return matrix;
}

}  // namespace attend::view
