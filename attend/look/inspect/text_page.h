// Views of a text model as figures, without a browser.
#pragma once

#include <string>
#include <vector>

#include "attend/look/inspect/inspect.h"
#include "attend/view/figure.h"

namespace attend::look {

struct TextView {
  std::string view = "map";  // one of text_views()
  std::string title = {};    // empty: the text and its answer
  // The head of "words" and "heads"; below 0: the clearest head of the last kind of attention, or its last layer.
  std::int64_t layer = -1, head = -1;
  std::string stack = {};  // encoder or decoder; empty: the last kind of attention
  std::string word = {};   // "words" and "all-heads": the attending token that is drawn; empty: all
};
std::vector<std::string> text_views();

// Throws Error for a view, layer or head that the model does not have.
view::Figure text_page(Inspector& inspector, const std::string& text, const TextView& view);

}  // namespace attend::look
