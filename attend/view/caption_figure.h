// Where a model looked while it wrote about an image, word by word: the figures of Xu et al. 2015.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attend/base/terminal.h"
#include "attend/image/image.h"
#include "attend/view/tiles_figure.h"

namespace attend::view {

struct CaptionAttention {
  image::Image image;  // as the model saw it
  std::string caption;
  std::vector<std::string> words;     // without the white space around them
  std::size_t rows = 0, columns = 0;  // of the grid that lies over the image
  std::vector<float> weights = {};    // [words, rows, columns]
};

// Of tokens with the weights of each, [tokens, rows, columns]: pieces of words are joined, as they are read, and the
// end mark is where the model looked last.
CaptionAttention joined_words(CaptionAttention tokens);

// The image as a word saw it: the brighter the more weight a place has of the word's largest.
image::Image seen_by(const CaptionAttention& caption, std::size_t word, int width, int height);

// The image, then one for each word. All throw Error when sizes do not fit.
std::vector<Tile> tiles_of(const CaptionAttention& caption);
std::string draw(const CaptionAttention& caption, const Terminal& terminal);
// For to_svg() and to_png().
Figure caption_figure(const CaptionAttention& caption);

}  // namespace attend::view
