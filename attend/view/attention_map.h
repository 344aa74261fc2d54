// Where each word that was written looked in what was read: the matrix behind every image here.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace attend::view {

struct AttentionMap {
  // Pieces of text. One that opens with white space opens a word; the first one does so anyway.
  std::vector<std::string> source, target;
  std::vector<float> weights;  // [target, source]
};

// Throws Error when the weights do not fit the labels.
void check_map(const AttentionMap& map);

// Pieces joined into words, without the white space. A word of the source gets the sum of what its pieces got; a word
// of the target looks where its pieces look on average.
AttentionMap merge_words(const AttentionMap& map);
// The pieces themselves, without the white space around them; of one that is nothing else, a sign for it (\u2423).
AttentionMap trimmed(const AttentionMap& map);

// For each word of the target the word of the source it looks at most, as (source, target), in order of the target; the
// first of equals. Words are the map's labels; those in `skipped` (end marks) align with nothing.
std::vector<std::pair<std::size_t, std::size_t>> align(const AttentionMap& words, const std::string& skipped);
// "0-0 1-2": as Pharaoh and its heirs write them.
std::string to_pharaoh(const std::vector<std::pair<std::size_t, std::size_t>>& pairs);

}  // namespace attend::view
