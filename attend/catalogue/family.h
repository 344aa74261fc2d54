// Families of models. Models of one family are computed by the same code; they differ in settings and names of tensors.
// The catalogue's row of a model (catalogue.h) names its family and holds everything about it that is data. What a
// folder above the catalogue does with each family stands in one table there:
//   attend/tasks/head.cpp          heads that can be trained
//   attend/tasks/cost.cpp          what a forward pass costs
//   attend/verify/verify.cpp       comparison with the outputs of another library
//   attend/look/inspect/open.cpp   what the page of attend look shows
#pragma once

#include <cstddef>
#include <cstdint>

namespace attend::catalogue {

enum class Family : std::uint8_t { bert, gpt2, text_rnn, marian, seq2seq, images, detr, captions, sagan };
inline constexpr std::size_t kFamilyCount = 9;

// One row for each family, in the order of the enum. Row has a member `family`. A table without all of them does not
// compile:
//   constexpr FamilyTable<Row> kRows({{Family::bert, ..}, {Family::gpt2, ..}, ..});
template <class Row>
class FamilyTable {
 public:
  template <std::size_t n>
  constexpr explicit FamilyTable(const Row (&rows)[n]) {
    static_assert(n == kFamilyCount, "a table has one row for each family");
    for (std::size_t i = 0; i < n; ++i) {
      if (rows[i].family != static_cast<Family>(i)) throw "rows are in the order of the enum";  // at compile time
      rows_[i] = rows[i];
    }
  }
  constexpr const Row& operator[](Family family) const { return rows_[static_cast<std::size_t>(family)]; }

 private:
  Row rows_[kFamilyCount] = {};
};

}  // namespace attend::catalogue
