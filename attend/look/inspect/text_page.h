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
  // The attending token that "words" and "all-heads" draw, all of them if empty; the one that "steps" follows; the one
  // of the source that "ablate" hides.
  std::string word = {};
  std::string without = "head";  // what "ablate" takes away: head, layer, word or positions
};
std::vector<std::string> text_views();

// Throws Error for a view, layer or head that the model does not have.
view::Figure text_page(Inspector& inspector, const std::string& text, const TextView& view);

// One text through several networks, side by side: their answers, and the attention or the vector between both sides.
struct ComparedModel {
  std::string title;
  Inspector* inspector;
};
view::Figure compare_page(const std::vector<ComparedModel>& models, const std::string& text);

}  // namespace attend::look
