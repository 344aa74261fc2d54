#include "attend/data/text/masked_blocks.h"

#include <algorithm>
#include <cmath>

#include "attend/base/error.h"
#include "attend/base/random.h"

namespace attend::data {

namespace {

enum MaskStream : std::uint32_t { kPlaces = 0x6d706c63, kTraining = 0x6d747261, kWhole = 0x6d77686f };
constexpr std::int32_t kIgnored = -100;

// [0, count) from a word, evenly but for 2^-32.
std::uint64_t below(std::uint64_t count, std::uint32_t word) { return count * word >> 32; }

}  // namespace

MaskedText::MaskedText(const TokenStream& stream, const MaskingOptions& options)
    : stream_(stream), options_(options), length_(options.block - 2) {
  check(length_ >= 1, "training: a block of {} tokens has no room for text", options.block);
  check(options.share > 0 && options.share < 1, "training: the share of hidden tokens must be in (0, 1), not {}",
        options.share);
  check(!options_.ordinary.empty(), "training: the tokenizer has only special tokens");
  check(stream.size() >= length_, "training: the text has {} tokens, fewer than a block of {}; a smaller 'block' helps",
        stream.size(), length_);
  hidden_ = std::max<std::int64_t>(1, std::llround(options.share * static_cast<double>(length_)));
  for (std::int32_t id : options_.ordinary) {
    check(id >= 0, "training: a token has the id {}", id);
    ordinary_.resize(std::max(ordinary_.size(), static_cast<std::size_t>(id) + 1));
    ordinary_[static_cast<std::size_t>(id)] = 1;
  }
  lines_.push_back(0);
  for (std::int64_t i = 0; i + 1 < stream.size(); ++i)
    if (stream[i] == options.end) lines_.push_back(i + 1);
}

void MaskedText::add(std::int64_t begin, std::uint32_t stream, std::uint64_t number, MaskedBlocks& blocks) const {
  const std::size_t first = blocks.ids.size();
  blocks.ids.push_back(options_.start);
  std::vector<std::size_t> places;  // that may be hidden
  for (std::int64_t i = begin; i < begin + length_; ++i) {
    const std::int32_t id = stream_[i];
    const auto known = static_cast<std::size_t>(id);
    if (known < ordinary_.size() && ordinary_[known]) places.push_back(blocks.ids.size());
    blocks.ids.push_back(id);
  }
  blocks.ids.push_back(options_.end);
  const std::uint64_t draws = number * static_cast<std::uint64_t>(length_);
  for (std::size_t i = 0; i < static_cast<std::size_t>(hidden_); ++i) {
    if (i >= places.size()) {
      blocks.places.push_back(static_cast<std::int32_t>(first)), blocks.labels.push_back(kIgnored);
      continue;
    }
    const Random4 random = philox(options_.seed, stream, draws + i);
    std::swap(places[i], places[i + below(places.size() - i, random.word[0])]);  // Fisher and Yates
    std::int32_t& id = blocks.ids[places[i]];
    blocks.places.push_back(static_cast<std::int32_t>(places[i])), blocks.labels.push_back(id);
    const std::uint64_t tenth = below(10, random.word[1]);
    if (tenth < 8)
      id = options_.mask;
    else if (tenth == 8)
      id = options_.ordinary[below(options_.ordinary.size(), random.word[2])];
  }
}

MaskedBlocks MaskedText::random(std::int64_t rows, std::uint64_t batch) const {
  MaskedBlocks blocks;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::uint64_t number = batch * static_cast<std::uint64_t>(rows) + static_cast<std::uint64_t>(row);
    const Random4 random = philox(options_.seed, kPlaces, number);
    const std::uint64_t drawn = static_cast<std::uint64_t>(random.word[0]) << 32 | random.word[1];
    // A place of the text, so that long lines are seen more often; then back to where its line or its block begins.
    const auto place = static_cast<std::int64_t>(drawn % static_cast<std::uint64_t>(stream_.size()));
    const std::int64_t line = *std::prev(std::ranges::upper_bound(lines_, place));
    const std::int64_t begin = line + (place - line) / length_ * length_;
    add(std::min(begin, stream_.size() - length_), kTraining, number, blocks);
  }
  stream_.check_whole();
  return blocks;
}

MaskedBlocks MaskedText::at(std::int64_t first, std::int64_t rows) const {
  MaskedBlocks blocks;
  for (std::int64_t i = first; i < first + rows; ++i)
    add(std::min(i * length_, stream_.size() - length_), kWhole, static_cast<std::uint64_t>(i), blocks);
  stream_.check_whole();
  return blocks;
}

}  // namespace attend::data
