// Marian's translation models (OPUS-MT) as Hugging Face stores them: the paper's Transformer under other names.
#pragma once

#include <string_view>

#include "attend/base/json.h"
#include "attend/checkpoint/safetensors.h"
#include "attend/models/transformer.h"
#include "attend/nn/parameters.h"

namespace attend::tasks {

// From a config.json whose model_type is "marian". Throws Error for what the Transformer here cannot be.
models::TransformerConfig marian_config(const Json& config, std::string_view what);

// Fills the parameters of a Transformer made from marian_config().
void load_marian_weights(const Safetensors& file, nn::Parameters& parameters);

}  // namespace attend::tasks
