// A set of byte strings with a value each, walked byte by byte: which tokens begin here, and which is the longest.
// The children of a node stand side by side, so a step is a search among a few neighbouring bytes; building takes time
// in proportion to the strings, whatever they are.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace attend::text {

class ByteTrie {
 public:
  using Key = std::pair<std::string_view, std::int32_t>;  // the value is not negative
  static constexpr std::uint32_t kRoot = 0, kNone = ~std::uint32_t{0};

  ByteTrie() : ByteTrie(std::vector<Key>()) {}
  // Empty strings are left out; of two equal ones the last counts.
  explicit ByteTrie(std::vector<Key> keys);

  bool empty() const { return nodes_.size() == 1; }

  // The node behind a byte, or kNone.
  std::uint32_t step(std::uint32_t node, char byte) const {
    const auto label = static_cast<std::uint8_t>(byte);
    if (node == kRoot) return root_[label];
    const Node& parent = nodes_[node];
    const std::uint8_t* labels = labels_.data() + parent.first;
    if (parent.children > kFew) {
      const std::uint8_t* found = std::lower_bound(labels, labels + parent.children, label);
      if (found == labels + parent.children || *found != label) return kNone;
      return parent.first + static_cast<std::uint32_t>(found - labels);
    }
    for (std::uint32_t i = 0; i < parent.children; ++i)
      if (labels[i] == label) return parent.first + i;
    return kNone;
  }

  // The value of the string that ends at the node, or -1.
  std::int32_t value(std::uint32_t node) const { return nodes_[node].value; }

  struct Longest {
    std::int32_t value = -1;
    std::uint32_t bytes = 0;  // 0: no string of the set begins the text
  };
  Longest longest(std::string_view text, std::uint32_t node = kRoot) const {
    Longest best;
    for (std::uint32_t at = 0; at < text.size(); ++at) {
      node = step(node, text[at]);
      if (node == kNone) break;
      if (nodes_[node].value >= 0) best = {nodes_[node].value, at + 1};
    }
    return best;
  }

 private:
  static constexpr std::uint32_t kFew = 8;
  struct Node {
    std::uint32_t first = 0;  // child
    std::uint32_t children = 0;
    std::int32_t value = -1;
  };

  std::vector<Node> nodes_;
  std::vector<std::uint8_t> labels_;  // of each node, the byte that leads to it
  std::array<std::uint32_t, 256> root_;
};

}  // namespace attend::text
