#include "attend/metrics/edit_distance.h"

#include <algorithm>
#include <cmath>

namespace attend::metrics {

namespace {

// Columns to each side of the diagonal, sacreBLEU's. Distances outside the band count as infinite, so the band is part
// of the result.
constexpr int kBeam = 25;
constexpr std::int32_t kInfinite = 1 << 30;

}  // namespace

std::int32_t EditDistance::Cells::operator[](std::int64_t column) const {
  return column >= begin && column < end ? data[column - begin] : kInfinite;
}

EditDistance::EditDistance(std::span<const std::uint32_t> reference, std::size_t hypothesis_words)
    : reference_(reference), hypothesis_(hypothesis_words) {
  const auto columns = static_cast<std::int64_t>(reference.size()) + 1;
  const double slope =
      hypothesis_words == 0 ? 1 : static_cast<double>(reference.size()) / static_cast<double>(hypothesis_words);
  // A very short hypothesis climbs so steeply that bands of neighbouring rows would not meet.
  const auto beam = static_cast<std::int64_t>(kBeam < slope / 2 ? std::ceil(slope / 2 + kBeam) : kBeam);
  rows_.push_back({.begin = 0, .end = columns, .at = 0});
  auto size = static_cast<std::size_t>(columns);
  std::int64_t widest = columns;
  for (std::size_t i = 1; i <= hypothesis_words; ++i) {
    const auto diagonal = static_cast<std::int64_t>(std::floor(static_cast<double>(i) * slope));
    const std::int64_t begin = std::max<std::int64_t>(0, diagonal - beam);
    const std::int64_t end = i == hypothesis_words ? columns : std::min(columns, diagonal + beam);
    rows_.push_back({.begin = begin, .end = end, .at = size});
    size += static_cast<std::size_t>(end - begin);
    widest = std::max(widest, end - begin);
  }
  cells_.resize(size);
  for (std::int64_t j = 0; j < columns; ++j) cells_[j] = static_cast<std::int32_t>(j);
  for (auto& scratch : scratch_) scratch.resize(widest);
}

void EditDistance::fill(std::size_t row, std::uint32_t word, const Cells& above, std::int32_t* out) const {
  const auto [begin, end, at] = rows_[row];
  std::int32_t left = kInfinite, diagonal = above[begin - 1];
  for (std::int64_t j = begin; j < end; ++j) {
    const std::int32_t up = above[j];
    std::int32_t best = std::min(up, left) + 1;
    if (j > 0) best = std::min(best, diagonal + (word == reference_[j - 1] ? 0 : 1));
    left = std::min(best, kInfinite);
    out[j - begin] = left;
    diagonal = up;
  }
}

void EditDistance::set(std::span<const std::uint32_t> hypothesis, std::size_t first) {
  std::ranges::copy(hypothesis, hypothesis_.begin());
  for (std::size_t i = first; i < hypothesis.size(); ++i)
    fill(i + 1, hypothesis[i], cells(i), cells_.data() + rows_[i + 1].at);
  distance_ = cells_.back();
}

int EditDistance::distance_of(std::span<const std::uint32_t> changed, std::size_t first, std::size_t last, int limit) {
  Cells above = cells(first);
  for (std::size_t i = first; i < changed.size(); ++i) {
    std::int32_t* const out = scratch_[i % 2].data();
    fill(i + 1, changed[i], above, out);
    above = {out, rows_[i + 1].begin, rows_[i + 1].end};
    if (i + 1 < last) continue;
    const std::int32_t* const known = cells_.data() + rows_[i + 1].at;
    std::int32_t least = kInfinite, most = -kInfinite;
    for (std::int64_t j = 0; j < above.end - above.begin; ++j) {
      least = std::min(least, out[j] - known[j]);
      most = std::max(most, out[j] - known[j]);
    }
    if (least == most || distance_ + least > limit) return distance_ + least;
  }
  return above[static_cast<std::int64_t>(reference_.size())];
}

Alignment EditDistance::align() const {
  auto i = static_cast<std::int64_t>(hypothesis_.size());
  auto j = static_cast<std::int64_t>(reference_.size());
  Alignment alignment{.hypothesis_of = std::vector<std::int32_t>(reference_.size()),
                      .hypothesis_wrong = std::vector<std::uint8_t>(hypothesis_.size(), 1),
                      .reference_wrong = std::vector<std::uint8_t>(reference_.size(), 1)};
  while (i > 0 || j > 0) {
    const bool match = i > 0 && j > 0 && hypothesis_[i - 1] == reference_[j - 1];
    const std::int32_t here = cells(i)[j];
    if (i > 0 && j > 0 && cells(i - 1)[j - 1] + (match ? 0 : 1) == here) {
      --i, --j;
      alignment.hypothesis_of[j] = static_cast<std::int32_t>(i);
      alignment.hypothesis_wrong[i] = alignment.reference_wrong[j] = match ? 0 : 1;
    } else if (i > 0 && cells(i - 1)[j] + 1 == here) {
      --i;
    } else {
      --j;
      alignment.hypothesis_of[j] = static_cast<std::int32_t>(i) - 1;
    }
  }
  return alignment;
}

}  // namespace attend::metrics
