// Heat over an image: a colour that grows with the weight and lets the image through; and a page of all heads.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attend/image/image.h"
#include "attend/view/figure.h"

namespace attend::view {

// Weights over a grid of places, row by row.
struct Heat {
  std::size_t rows = 0, columns = 0;
  std::span<const float> weights;
};

// The image under its heat: no colour at the smallest weight, then violet, orange and yellow up to the largest.
image::Image lit(const image::Image& image, const Heat& heat);
// The image, darker where the weight is small: for terminals without colour.
image::Image dimmed(const image::Image& image, const Heat& heat);
// The same at another size, with the heat running smoothly between the middles of places (as figure 3 of Xu et al.
// 2015).
image::Image lit_smoothly(const image::Image& image, const Heat& heat, int width, int height);
// The heat alone, a pixel a place, as weights for Figure::Pixels::heat: 255 is the largest.
image::Image heat_pixels(const Heat& heat);

struct ImageHeads {
  image::Image image;  // as the model saw it
  std::string title = {};
  std::vector<std::pair<std::string, float>> labels = {};  // with their probabilities
  std::string large_title = {};                            // of the heat that is drawn large
  Heat large = {};                                         // none when it has no weights
  struct Row {
    std::string label;
    std::vector<Heat> heads;
  };
  std::vector<Row> rows = {};
};
// Each square has a scale of its own. Throws Error when sizes do not fit.
Figure image_heads(const ImageHeads& page);

}  // namespace attend::view
