// Marian's translation models (OPUS-MT) as Hugging Face stores them: the paper's Transformer under other names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attend/base/json.h"
#include "attend/checkpoint/tensor_file.h"
#include "attend/models/transformer.h"
#include "attend/nn/parameters.h"
#include "attend/text/tokenizer.h"

namespace attend::catalogue {

// From a config.json whose model_type is "marian". Throws Error for what the Transformer here cannot be.
models::TransformerConfig marian_config(const Json& config, std::string_view what);

// The tensors of the file that, one below the other, are this parameter of a Transformer made from marian_config().
std::vector<std::string> marian_names(const nn::Parameters::Entry& entry);

// Fills the parameters of a Transformer made from marian_config().
void load_marian_weights(const checkpoint::TensorFile& file, nn::Parameters& parameters);

// What the decoder begins with: the token of padding. Throws Error when config and tokenizer disagree.
std::int32_t marian_start(const Json& config, const text::Tokenizer& tokenizer, std::string_view what);

}  // namespace attend::catalogue
