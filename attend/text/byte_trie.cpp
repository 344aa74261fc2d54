#include "attend/text/byte_trie.h"

namespace attend::text {

ByteTrie::ByteTrie(std::vector<Key> keys) {
  root_.fill(kNone);
  std::ranges::stable_sort(keys, {}, &Key::first);
  std::erase_if(keys, [](const Key& key) { return key.first.empty(); });
  // Level by level: of each node, the keys that go through it.
  struct Range {
    std::size_t begin, end;
  };
  std::vector<Range> level = {{0, keys.size()}}, next;
  nodes_.emplace_back();
  labels_.push_back(0);
  std::size_t node = 0;  // of the level's first range
  for (std::size_t depth = 0; !level.empty(); ++depth) {
    next.clear();
    for (const Range& range : level) {
      nodes_[node].first = static_cast<std::uint32_t>(nodes_.size());
      for (std::size_t at = range.begin; at < range.end;) {
        const std::string_view key = keys[at].first;
        if (key.size() == depth) {
          nodes_[node].value = keys[at++].second;
          continue;
        }
        Range below = {at, at};
        while (below.end < range.end && keys[below.end].first[depth] == key[depth]) ++below.end;
        next.push_back(below);
        ++nodes_[node].children;
        nodes_.emplace_back();
        labels_.push_back(static_cast<std::uint8_t>(key[depth]));
        at = below.end;
      }
      ++node;
    }
    level.swap(next);
  }
  for (std::uint32_t i = 0; i < nodes_[kRoot].children; ++i)
    root_[labels_[nodes_[kRoot].first + i]] = nodes_[kRoot].first + i;
}

}  // namespace attend::text
