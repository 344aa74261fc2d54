// The Transformer as a caption decoder: its memory is the projected regions of the image with 2-d positions.
#include "attend/models/transformer_captions.h"

#include "attend/base/error.h"
#include "attend/base/fields.h"
#include "attend/base/limits.h"
#include "attend/models/config_checks.h"
#include "attend/nn/position.h"
#include "attend/ops/arithmetic.h"

namespace attend::models {

namespace {

// By default a Transformer without encoder layers: the image model is the encoder.
TransformerConfig transformer(const TransformerCaptionsConfig& config, std::string_view what) {
  check_limited(what, "vocabulary", config.vocabulary, 1, limits::kLargestVocabulary);
  TransformerConfig result{.vocabulary = config.vocabulary,
                           .width = config.width,
                           .heads = config.heads,
                           .hidden = config.hidden,
                           .encoder_layers = config.encoder_layers,
                           .decoder_layers = config.layers,
                           .max_length = config.max_length,
                           .dropout = config.dropout,
                           .pre_norm = config.pre_norm,
                           .activation = config.activation};
  check_config(result, what);
  return result;
}

}  // namespace

TransformerCaptions::TransformerCaptions(const TransformerCaptionsConfig& config, std::int64_t regions,
                                         std::string_view what)
    : config_(config), regions_(regions, config.width), transformer_(transformer(config, what)) {}

Json TransformerCaptions::settings() const { return write_fields(config_); }

std::vector<nn::Parameters::Entry> TransformerCaptions::parameters() {
  std::vector<nn::Parameters::Entry> entries = nn::Parameters::list(*this);
  for (nn::Parameters::Entry& entry : entries) entry.name = "decoder." + entry.name;
  return entries;
}

void TransformerCaptions::place(Backend& backend, DType dtype, const Extent2& regions) {
  transformer_.place(backend, dtype);
  const std::int64_t half = config_.width / 2;
  const auto table = [&](std::int64_t count) {
    return download(nn::sinusoidal_positions(backend, count, half, DType::f32));
  };
  // Positions [S, C] are built on the host, once per model.
  const std::vector<float> rows = table(regions.h), columns = table(regions.w);
  std::vector<float> all;
  for (std::int64_t y = 0; y < regions.h; ++y)
    for (std::int64_t x = 0; x < regions.w; ++x) {
      all.insert(all.end(), rows.begin() + y * half, rows.begin() + (y + 1) * half);
      all.insert(all.end(), columns.begin() + x * half, columns.begin() + (x + 1) * half);
    }
  const Tensor places = make_tensor(backend, {regions.h * regions.w, config_.width}, DType::f32);
  upload(places, all);
  places_ = dtype == DType::f32 ? places : ops::cast(places, dtype);
}

Tensor TransformerCaptions::memory(const Tensor& regions) const {
  check(places_.defined() && regions.rank() == 3 && regions.dim(1) == places_.dim(0),
        "captions: regions are {}, but the decoder was placed for {}", regions.shape(),
        places_.defined() ? places_.dim(0) : 0);
  return transformer_.encode(ops::add(regions_(regions), places_), {});  // [B, S, C]
}

Tensor TransformerCaptions::decode(const Tensor& regions, const nn::Sequences& captions) const {
  return transformer_.decode(Encoded{memory(regions)}, captions);  // [B, T, C]
}

CaptionLoss TransformerCaptions::loss(const Tensor& regions, const CaptionBatch& batch, float smoothing) const {
  const ops::Loss words = transformer_.loss(decode(regions, batch.captions), batch.labels, {.smoothing = smoothing});
  return {words.mean, words};
}

std::unique_ptr<nn::StepModel> TransformerCaptions::start(Pass& pass, const Tensor& regions, std::int64_t group) const {
  return transformer_.start(pass, Encoded{memory(regions)}, group);
}

}  // namespace attend::models
