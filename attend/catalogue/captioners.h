// Models that write about images: two configs in one.
//   captioner                ours: {"encoder": an image model's config.json, "decoder": "show-tell",
//   "show-attend-tell" or
//                            "transformer", and the decoder's settings beside them}
//   vision-encoder-decoder   transformers': {"encoder": .., "decoder": a GPT-2's with cross-attention}
// The encoder's parameters are encoder.NAME, NAME being what its own file has behind the prefix; its head is left out.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "attend/base/json.h"
#include "attend/catalogue/catalogue.h"
#include "attend/models/captioner.h"
#include "attend/nn/parameters.h"

namespace attend::catalogue {

std::unique_ptr<models::Captioner> make_own_captioner(const Json& config, std::string_view what);
std::unique_ptr<models::Captioner> make_vision_encoder_decoder(const Json& config, std::string_view what);

// The parameters of an image model without its head, as a captioner's file names them. entry: the model's.
std::vector<nn::Parameters::Entry> encoder_parameters(models::ImageModel& model, const Entry& entry);

// The weights of a folder whose model is one of these.
void load_captioner(const std::filesystem::path& folder, const ModelConfig& model, nn::Parameters& parameters);

}  // namespace attend::catalogue
