// Tags inside of a sentence, such as <b> and <a>: a sentence is translated whole, and each element goes around the
// words that looked at its words while they were written, by the model's own attention.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "attend/view/attention_map.h"

namespace attend::serve {

struct InlineElement {
  std::string open, close;         // its tags, as they were sent
  std::size_t begin = 0, end = 0;  // bytes of the sentence that are between them
  std::ptrdiff_t parent = -1;      // the element around it, which stands before it in the list
};

std::string html_escaped(std::string_view text);

// The sentence itself with its tags.
std::string with_tags(std::string_view text, const std::vector<InlineElement>& elements);
// Its translation with the tags. Elements stay inside of each other as they were, and none crosses another. seen: what
// the translation looked at; where it is not of these two texts, words are taken to keep their places in the sentence.
std::string with_tags(std::string_view source, const std::vector<InlineElement>& elements, std::string_view translation,
                      const view::AttentionMap& seen);

}  // namespace attend::serve
