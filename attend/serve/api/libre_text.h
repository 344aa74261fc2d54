// Texts as people send them, for a model that translates sentences: cut into lines and sentences, and what is around
// those (breaks, blanks, tags of HTML) kept as it is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attend/serve/api/inline_tags.h"

namespace attend::serve {

// A piece is translated, or stays.
struct TextPiece {
  std::string text;
  bool translated = false;
  std::vector<InlineElement> elements = {};  // of HTML, around parts of a sentence
};

// Joined, the pieces are the text. A sentence ends at . ! ? or their full-width forms, with closing marks behind them,
// before a blank and a letter that is not small; a line always ends it.
std::vector<TextPiece> plain_pieces(std::string_view text);
// Of HTML: tags, comments, scripts and styles stay; entities of the text between them are read, and written again. An
// element such as <b> that is all in one sentence stays with it, so that the sentence is translated whole.
std::vector<TextPiece> html_pieces(std::string_view html);

}  // namespace attend::serve
