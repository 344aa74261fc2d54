// The settings attention_score, attention_scale and attention_bias of a config: how a query is compared with a key
// (nn/attention_score.h), and whether the projections of attention have a bias. The paper's have none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "attend/base/json_fwd.h"
#include "attend/nn/attention_score.h"

namespace attend::models {

struct AttentionSettings {
  std::string attention_score = "scaled-dot", attention_scale = "sqrt";
  bool attention_bias = true;

  // The score that both settings name: scaled-dot without its scale is dot. Throws Error naming what.
  nn::Score score(std::string_view what) const;
  // Removes settings that are those of `usual`, so that files of ordinary models stay as they were.
  void leave_out_of(Json& json, const AttentionSettings& usual) const;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("attention_score", attention_score,
      "How attention compares query and key: scaled-dot, dot, general (Luong), additive (Bahdanau) or cosine.");
    v("attention_scale", attention_scale,
      "Factor of the scaled-dot score: sqrt divides by the root of the head width, none does not.");
    v("attention_bias", attention_bias, "Add a bias in the projections of attention; the Transformer paper has none.");
  }
};

}  // namespace attend::models
