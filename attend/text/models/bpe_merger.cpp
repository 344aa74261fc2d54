#include "attend/text/models/bpe_merger.h"

#include <algorithm>
#include <array>
#include <queue>

namespace attend::text {

namespace {

// Up to here, looking through all neighbours for every join is faster than keeping them in a heap.
constexpr std::size_t kShort = 48;

}  // namespace

void BpeMerger::merge(std::vector<Piece>& word) const {
  if (word.size() < 2) return;
  if (word.size() <= kShort) {
    merge_short(word);
  } else {
    merge_long(word);
  }
}

void BpeMerger::merge_short(std::vector<Piece>& word) const {
  std::array<Merge, kShort> next;  // what piece i and the one behind it become
  std::size_t size = word.size();
  for (std::size_t i = 0; i + 1 < size; ++i) next[i] = find(word[i].id, word[i + 1].id);
  while (size > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < size; ++i)
      if (next[i].rank < next[best].rank) best = i;
    if (next[best].rank == kNever) break;
    word[best] = {next[best].joined, word[best].bytes + word[best + 1].bytes};
    --size;
    for (std::size_t i = best + 1; i < size; ++i) {
      word[i] = word[i + 1];
      next[i] = next[i + 1];
    }
    if (best > 0) next[best - 1] = find(word[best - 1].id, word[best].id);
    if (best + 1 < size) next[best] = find(word[best].id, word[best + 1].id);
  }
  word.resize(size);
}

// A heap of possible joins over a linked list: n log n in the length of the word, however hostile.
void BpeMerger::merge_long(std::vector<Piece>& word) const {
  constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Link {
    std::uint32_t before, behind;
  };
  struct Candidate {
    std::uint32_t rank, at;
    TokenId left, right, joined;  // the ids when it was found: the entry is void if they have changed
    bool operator>(const Candidate& other) const { return rank != other.rank ? rank > other.rank : at > other.at; }
  };
  const auto size = static_cast<std::uint32_t>(word.size());
  std::vector<Link> links(size);
  std::vector<Candidate> found;
  for (std::uint32_t i = 0; i < size; ++i) {
    links[i] = {i == 0 ? kNone : i - 1, i + 1 == size ? kNone : i + 1};
    if (i + 1 == size) break;
    const Merge merge = find(word[i].id, word[i + 1].id);
    if (merge.rank != kNever) found.push_back({merge.rank, i, word[i].id, word[i + 1].id, merge.joined});
  }
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue({}, std::move(found));
  std::vector<bool> gone(size);
  const auto consider = [&](std::uint32_t left) {
    const std::uint32_t right = links[left].behind;
    const Merge merge = find(word[left].id, word[right].id);
    if (merge.rank != kNever) queue.push({merge.rank, left, word[left].id, word[right].id, merge.joined});
  };
  while (!queue.empty()) {
    const Candidate top = queue.top();
    queue.pop();
    const std::uint32_t right = links[top.at].behind;
    if (gone[top.at] || right == kNone || word[top.at].id != top.left || word[right].id != top.right) continue;
    word[top.at] = {top.joined, word[top.at].bytes + word[right].bytes};
    gone[right] = true;
    links[top.at].behind = links[right].behind;
    if (links[right].behind != kNone) links[links[right].behind].before = top.at;
    if (links[top.at].before != kNone) consider(links[top.at].before);
    if (links[top.at].behind != kNone) consider(top.at);
  }
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < size; ++i)
    if (!gone[i]) word[kept++] = word[i];
  word.resize(kept);
}

}  // namespace attend::text
