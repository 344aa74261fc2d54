// The search of TER: finding the fewest moves and edits is NP-hard (Shapira and Storer 2002), so blocks are moved one
// at a time, each time the one that saves the most edits, until none saves any. The limits and the order in which moves
// are tried are Tercom's as sacreBLEU has them: both decide which of several moves is taken, hence the score.
#include <algorithm>
#include <tuple>
#include <vector>

#include "attend/metrics/edit_distance.h"
#include "attend/metrics/ter.h"

namespace attend::metrics {

namespace {

constexpr int kMaxBlock = 10;           // words in a block
constexpr std::int64_t kMaxReach = 50;  // how far from its place in the reference a block may stand
constexpr int kMaxMoves = 1000;         // moves tried for one sentence, over all its rounds

// The block of length words from start goes before word target; target may be inside the block, which then moves as far
// beyond its end.
struct Move {
  std::int64_t start = 0, length = 0, target = 0;

  // The words that change, [first, last).
  std::int64_t first() const { return std::min(start, target); }
  std::int64_t last(std::int64_t words) const {
    if (target < start) return start + length;
    return std::min(words, target > start + length ? target : target + length);
  }
};

void move_block(const Move& move, std::vector<std::uint32_t>& words) {
  const auto begin = words.begin() + move.first(), end = words.begin() + move.last(std::ssize(words));
  std::rotate(begin, words.begin() + move.start + (move.target < move.start ? 0 : move.length), end);
}

// Undone without a copy of a line that may have 100,000 words.
void move_back(const Move& move, std::vector<std::uint32_t>& words) {
  const auto begin = words.begin() + move.first(), end = words.begin() + move.last(std::ssize(words));
  std::rotate(begin, move.target < move.start ? begin + move.length : end - move.length, end);
}

// Sums of the wrong words before each position: whether a block has one is a subtraction.
std::vector<std::int32_t> wrong_before(const std::vector<std::uint8_t>& wrong) {
  std::vector<std::int32_t> sums(wrong.size() + 1);
  for (std::size_t i = 0; i < wrong.size(); ++i) sums[i + 1] = sums[i] + wrong[i];
  return sums;
}

class ShiftSearch {
 public:
  ShiftSearch(std::span<const std::uint32_t> hypothesis, std::span<const std::uint32_t> reference);

  std::int64_t edits();

 private:
  bool move_best_block();
  void try_blocks(std::int64_t start, std::int64_t start_in_reference);
  void try_targets(std::int64_t start, std::int64_t start_in_reference, std::int64_t length);
  void try_move(const Move& move);

  std::vector<std::uint32_t> words_;
  std::span<const std::uint32_t> reference_;
  std::vector<std::vector<std::int32_t>> places_;  // of each word in the reference, in order
  EditDistance distance_;
  Alignment alignment_;
  std::vector<std::int32_t> wrong_before_, reference_wrong_before_;
  std::int64_t tried_ = 0;
  int saved_ = 0;  // edits saved by the best move of this round; 0 while there is none
  Move best_;
};

ShiftSearch::ShiftSearch(std::span<const std::uint32_t> hypothesis, std::span<const std::uint32_t> reference)
    : words_(hypothesis.begin(), hypothesis.end()), reference_(reference), distance_(reference, hypothesis.size()) {
  std::uint32_t most = 0;
  for (const std::uint32_t word : hypothesis) most = std::max(most, word);
  for (const std::uint32_t word : reference) most = std::max(most, word);
  places_.resize(most + 1);
  for (std::size_t i = 0; i < reference.size(); ++i) places_[reference[i]].push_back(static_cast<std::int32_t>(i));
}

std::int64_t ShiftSearch::edits() {
  distance_.set(words_);
  std::int64_t moves = 0;
  while (move_best_block()) ++moves;
  return moves + distance_.distance();
}

// One round. False when no move saves an edit or the limit is reached: then a move that was found is not made either.
bool ShiftSearch::move_best_block() {
  if (distance_.distance() == 0) return false;
  alignment_ = distance_.align();
  wrong_before_ = wrong_before(alignment_.hypothesis_wrong);
  reference_wrong_before_ = wrong_before(alignment_.reference_wrong);
  saved_ = 0;
  const std::int64_t size = std::ssize(words_);
  for (std::int64_t start = 0; start < size && tried_ < kMaxMoves; ++start) {
    if (wrong_before_[std::min(size, start + kMaxBlock)] == wrong_before_[start]) continue;  // no block here is wrong
    const auto& places = places_[words_[start]];
    auto place = std::ranges::lower_bound(places, start - kMaxReach);
    for (; place != places.end() && *place <= start + kMaxReach && tried_ < kMaxMoves; ++place)
      try_blocks(start, *place);
  }
  if (tried_ >= kMaxMoves || saved_ == 0) return false;
  move_block(best_, words_);
  distance_.set(words_, static_cast<std::size_t>(best_.first()));
  return true;
}

// Every block that stands at both places.
void ShiftSearch::try_blocks(std::int64_t start, std::int64_t start_in_reference) {
  const std::int64_t most =
      std::min({std::int64_t{kMaxBlock}, std::ssize(words_) - start, std::ssize(reference_) - start_in_reference});
  for (std::int64_t length = 1; length <= most && tried_ < kMaxMoves; ++length) {
    if (words_[start + length - 1] != reference_[start_in_reference + length - 1]) return;
    // Nothing to gain unless a word is wrong here and one is missing there.
    if (wrong_before_[start + length] == wrong_before_[start]) continue;
    if (reference_wrong_before_[start_in_reference + length] == reference_wrong_before_[start_in_reference]) continue;
    const std::int64_t now = alignment_.hypothesis_of[start_in_reference];
    if (now >= start && now < start + length) continue;  // would move within itself
    try_targets(start, start_in_reference, length);
  }
}

// Before the block's place in the reference and behind each of its words.
void ShiftSearch::try_targets(std::int64_t start, std::int64_t start_in_reference, std::int64_t length) {
  std::int64_t before = -1;
  for (std::int64_t place = start_in_reference - 1; place < start_in_reference + length; ++place) {
    const std::int64_t target = place < 0 ? 0 : alignment_.hypothesis_of[place] + 1;
    if (target == before) continue;
    before = target;
    try_move({.start = start, .length = length, .target = target});
    ++tried_;
  }
}

// The most saved wins, then the longest block, then the first of the hypothesis, then the first target.
void ShiftSearch::try_move(const Move& move) {
  const auto rank = [](const Move& m) { return std::tuple(m.length, -m.start, -m.target); };
  const int needed = saved_ > 0 && rank(move) > rank(best_) ? saved_ : saved_ + 1;
  const int limit = distance_.distance() - needed;
  if (limit < 0) return;
  move_block(move, words_);
  const int distance = distance_.distance_of(words_, static_cast<std::size_t>(move.first()),
                                             static_cast<std::size_t>(move.last(std::ssize(words_))), limit);
  move_back(move, words_);
  if (distance > limit) return;
  saved_ = distance_.distance() - distance;
  best_ = move;
}

}  // namespace

std::int64_t translation_edits(std::span<const std::uint32_t> hypothesis, std::span<const std::uint32_t> reference) {
  if (reference.empty()) return std::ssize(hypothesis);
  return ShiftSearch(hypothesis, reference).edits();
}

}  // namespace attend::metrics
