#include "attend/view/caption_figure.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <utility>

#include "attend/base/error.h"
#include "attend/view/attention_map.h"
#include "attend/view/image_heat.h"

namespace attend::view {

namespace {

constexpr int kLeastTile = 144, kMostTile = 288;  // pixels across: heat is smooth over small images too

void check_caption(const CaptionAttention& caption) {
  image::check_image(caption.image, "caption");
  check(caption.rows > 0 && caption.columns > 0 &&
            caption.weights.size() == caption.words.size() * caption.rows * caption.columns,
        "caption: {} weights for {} words and {} x {} places", caption.weights.size(), caption.words.size(),
        caption.rows, caption.columns);
}

}  // namespace

CaptionAttention joined_words(CaptionAttention tokens) {
  AttentionMap map{.source = {}, .target = std::move(tokens.words), .weights = std::move(tokens.weights)};
  for (std::size_t i = 0; i < tokens.rows * tokens.columns; ++i)
    map.source.push_back(fmt::format(" {}", i));  // each place is a word
  AttentionMap words = merge_words(map);
  tokens.words = std::move(words.target), tokens.weights = std::move(words.weights);
  return tokens;
}

image::Image seen_by(const CaptionAttention& caption, std::size_t word, int width, int height) {
  check_caption(caption);
  check(word < caption.words.size(), "caption: there is no word {} among {}", word, caption.words.size());
  const std::size_t places = caption.rows * caption.columns;
  return lit_smoothly(caption.image,
                      {caption.rows, caption.columns, std::span(caption.weights).subspan(word * places, places)}, width,
                      height);
}

// The image itself first.
std::vector<Tile> tiles_of(const CaptionAttention& caption) {
  check_caption(caption);
  const int width = std::clamp(caption.image.width, kLeastTile, kMostTile);
  const int height = std::max(1, width * caption.image.height / caption.image.width);
  std::vector<Tile> tiles = {{"", caption.image}};
  for (std::size_t i = 0; i < caption.words.size(); ++i)
    tiles.push_back({caption.words[i], seen_by(caption, i, width, height)});
  return tiles;
}

std::string draw(const CaptionAttention& caption, const Terminal& terminal) {
  return draw(tiles_of(caption), terminal);
}

Figure caption_figure(const CaptionAttention& caption) {
  return tiles_figure(tiles_of(caption), {.title = caption.caption});
}

}  // namespace attend::view
