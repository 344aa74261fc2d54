#include "attend/models/attention_settings.h"

#include "attend/base/error.h"
#include "attend/base/json.h"

namespace attend::models {

nn::Score AttentionSettings::score(std::string_view what) const {
  const nn::Score named = nn::score_named(attention_score, what);
  const bool unscaled = attention_scale == "none";
  check(unscaled || attention_scale == "sqrt", "{}: unknown attention_scale '{}'; there are sqrt and none", what,
        attention_scale);
  if (!unscaled || named == nn::Score::dot) return named;
  check(named == nn::Score::scaled_dot,
        "{}: attention_scale is none, but attention_score '{}' has no scale; it belongs to scaled-dot", what,
        attention_score);
  return nn::Score::dot;
}

void AttentionSettings::leave_out_of(Json& json, const AttentionSettings& usual) const {
  if (attention_score == usual.attention_score) json.erase("attention_score");
  if (attention_scale == usual.attention_scale) json.erase("attention_scale");
  if (attention_bias == usual.attention_bias) json.erase("attention_bias");
}

}  // namespace attend::models
