#include "attend/metrics/ngrams.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace attend::metrics {

namespace {

constexpr std::uint32_t kEmpty = 0xFFFFFFFF;

std::uint64_t mix(std::uint64_t key) {
  key ^= key >> 31;
  key *= 0x9E3779B97F4A7C15;
  return key ^ key >> 29;
}

}  // namespace

Units WordNumbers::operator()(std::span<const std::u32string_view> words) {
  Units units;
  units.reserve(words.size());
  for (const std::u32string_view word : words)
    units.push_back(numbers_.try_emplace(word, static_cast<std::uint32_t>(numbers_.size())).first->second);
  return units;
}

Ngrams::Ngrams(std::vector<Units> sequences) : units_(std::move(sequences)), grams_(units_) {
  start_table();
  for (Units& grams : grams_)
    for (std::uint32_t& gram : grams) gram = number_of(gram);
}

void Ngrams::next_order() {
  ++order_;
  start_table();
  for (std::size_t s = 0; s < units_.size(); ++s) {
    Units& grams = grams_[s];
    if (!grams.empty()) grams.pop_back();
    for (std::size_t i = 0; i < grams.size(); ++i)
      grams[i] = number_of(std::uint64_t{grams[i]} << 32 | units_[s][i + order_ - 1]);
  }
}

void Ngrams::start_table() {
  std::size_t most = 1;
  for (const Units& grams : grams_) most += grams.size();
  table_.assign(std::bit_ceil(most * 2), {.key = 0, .number = kEmpty});
  count_ = 0;
}

std::uint32_t Ngrams::number_of(std::uint64_t key) {
  const std::size_t mask = table_.size() - 1;
  std::size_t at = mix(key) & mask;
  for (; table_[at].number != kEmpty; at = (at + 1) & mask)
    if (table_[at].key == key) return table_[at].number;
  table_[at] = {.key = key, .number = count_};
  return count_++;
}

std::int64_t Ngrams::matches(std::size_t sequence, std::span<const std::size_t> references) const {
  std::vector<std::uint32_t> available(count_), seen;
  for (std::size_t r = 0; r < references.size(); ++r) {
    if (r == 0) {
      for (const std::uint32_t gram : grams(references[0])) ++available[gram];
      continue;
    }
    seen.assign(count_, 0);
    for (const std::uint32_t gram : grams(references[r])) available[gram] = std::max(available[gram], ++seen[gram]);
  }
  std::int64_t found = 0;
  for (const std::uint32_t gram : grams(sequence)) {
    if (available[gram] == 0) continue;
    --available[gram];
    ++found;
  }
  return found;
}

}  // namespace attend::metrics
