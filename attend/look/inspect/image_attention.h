// The attention of one layer over an image, as a probe saw it, with where its queries and keys lie: heat over the
// image from any of them, through windows (Swin) and pooled grids (MViT) as well; and attention rollout.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attend/models/image_model.h"
#include "attend/view/collector.h"

namespace attend::look {

struct ImageAttention {
  models::AttentionPlace place;
  std::int64_t windows = 1;            // that see nothing of each other; 1: all see all
  std::int64_t rows = 0, columns = 0;  // of one of them, with the model's own tokens
  std::vector<float> weights = {};     // [windows, heads, rows, columns]

  // Of one image. Throws Error when shapes and geometry disagree.
  ImageAttention(models::AttentionPlace place, const view::AttentionWeights& seen);

  // Where row or column `index` of a window lies in its grid, row by row. Below zero: a token of the model's own, or
  // what fills the grid up to whole windows.
  std::int64_t query_place(std::int64_t window, std::int64_t index) const { return lies(place.queries, window, index); }
  std::int64_t key_place(std::int64_t window, std::int64_t index) const { return lies(place.keys, window, index); }
  float weight(std::int64_t window, std::int64_t head, std::int64_t row, std::int64_t column) const {
    return weights[static_cast<std::size_t>(((window * place.heads + head) * rows + row) * columns + column)];
  }

  // Where a head looks on the whole, over the grid of the keys: from the class token, or, where there is none, the mean
  // over all queries. head -1: all heads averaged.
  std::vector<float> heat(std::int64_t head) const;

 private:
  std::int64_t lies(const Extent2& grid, std::int64_t window, std::int64_t index) const;
};

// Attention rollout (Abnar & Zuidema 2020): the heads' mean, half of it and half of the identity for the residual
// stream, multiplied from the last layer down to the patches.
struct Rollout {
  Extent2 grid = {0, 0};
  std::vector<float> weights = {};  // over the patches: of the class token, or the mean over all patches
  std::string missing = {};         // why there is none
};
Rollout rollout_of(std::span<const ImageAttention> layers);

}  // namespace attend::look
