// The named sizes of the Transformer. Small datasets need more dropout and fewer layers.
#include "attend/models/presets.h"

#include <fmt/core.h>

#include "attend/base/error.h"
#include "attend/base/joined.h"

namespace attend::models {

const std::vector<std::string>& preset_names() {
  static const std::vector<std::string> kNames = {"tiny", "small", "base", "big"};
  return kNames;
}

TransformerConfig transformer_preset(std::string_view name) {
  if (name == "tiny")
    return {.width = 128, .heads = 4, .hidden = 256, .encoder_layers = 4, .decoder_layers = 4, .dropout = 0.3f};
  if (name == "small")
    return {.width = 256, .heads = 4, .hidden = 1024, .encoder_layers = 3, .decoder_layers = 3, .dropout = 0.1f};
  if (name == "base")
    return {.width = 512, .heads = 8, .hidden = 2048, .encoder_layers = 6, .decoder_layers = 6, .dropout = 0.1f};
  if (name == "big")
    return {.width = 1024, .heads = 16, .hidden = 4096, .encoder_layers = 6, .decoder_layers = 6, .dropout = 0.3f};
  fail("unknown preset '{}'; there are {}", name, joined(preset_names(), ", "));
}

}  // namespace attend::models
