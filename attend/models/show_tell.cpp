// Show and Tell (Vinyals et al. 2015): an LSTM that reads the image as its first input.
#include "attend/models/show_tell.h"

#include <utility>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/fields.h"
#include "attend/base/limits.h"
#include "attend/models/config_checks.h"
#include "attend/ops/layout.h"
#include "attend/ops/reduce.h"

namespace attend::models {

void check_config(const ShowTellConfig& config, std::string_view what) {
  check_limited(what, "vocabulary", config.vocabulary, 1, limits::kLargestVocabulary);
  check_limited(what, "max_length", config.max_length, 2, limits::kMostPositions);
  check_limited(what, "width", config.width, 1, limits::kWidestModel);
  check_limited(what, "hidden", config.hidden, 1, limits::kWidestModel);
  check_rate(what, "dropout", config.dropout);
  check(config.image_at == "first" || config.image_at == "every",
        "{}: 'image_at' is '{}', but must be one of first, every", what, config.image_at);
  check_size(what, config.vocabulary * (config.width + config.hidden) +
                       4 * config.hidden * (config.width + 2 * config.hidden));
}

// Word embeddings start with unit variance.
ShowTell::ShowTell(const ShowTellConfig& config, std::int64_t regions)
    : config_((check_config(config, "show-tell"), config)),
      image_(regions, config.at_every_step() ? config.hidden : config.width),
      embedding_(config.vocabulary, config.width, {nn::Init::normal, 1}),
      cell_(RnnKind::lstm, config.width + (config.at_every_step() ? config.hidden : 0), config.hidden),
      output_(config.hidden, config.vocabulary) {}

Json ShowTell::settings() const { return write_fields(config_); }

std::vector<nn::Parameters::Entry> ShowTell::parameters() {
  std::vector<nn::Parameters::Entry> entries = nn::Parameters::list(*this);
  for (nn::Parameters::Entry& entry : entries) entry.name = "decoder." + entry.name;
  return entries;
}

Tensor ShowTell::see(const Tensor& regions) const {
  check(regions.rank() == 3, "show-tell: regions are {}, not [B, S, C]", regions.shape());
  const Tensor mean = ops::mean(regions, 1);  // [B, C]
  const Tensor seen = config_.at_every_step() ? image_(mean, Activation::tanh) : image_(mean);
  return seen.reshape({regions.dim(0), 1, seen.width()});  // [B, 1, W or H]
}

RecurrentState ShowTell::begin(const Tensor& seen) const {
  if (config_.at_every_step()) {
    const Tensor hidden = seen.reshape({seen.dim(0), seen.width()}), cell = like(hidden);
    cell.backend().fill(cell, 0);
    return {hidden, cell};
  }
  const ops::RecurrentResult read = cell_.run(cell_.gates(seen), {});  // [B, H]
  return {read.hidden, read.cell};
}

Tensor ShowTell::beside(const Tensor& words, const Tensor& image) const {
  const std::vector<Tensor> images(static_cast<std::size_t>(words.dim(1)), image);
  return ops::concat({words, ops::concat(images, 1)}, 2);
}

Tensor ShowTell::decode(const Tensor& regions, const nn::Sequences& captions) const {
  const Tensor words = ops::dropout(embedding_(captions.ids), config_.dropout);  // [B, T, W]
  const Tensor seen = see(regions);
  if (config_.at_every_step()) {
    const RecurrentState state = begin(seen);
    const Tensor gates = cell_.gates(beside(words, seen));  // [B, T, 4·H]
    return ops::dropout(cell_.run(gates, {.hidden = state.hidden, .cell = state.cell}).states, config_.dropout);
  }
  const Tensor states = cell_.run(cell_.gates(ops::concat({seen, words}, 1)), {}).states;  // [B, 1 + T, H]
  // The first state has read only the image and predicts nothing: [B, T, H] remain.
  return ops::dropout(ops::slice(states, 1, 1, words.dim(1)), config_.dropout);
}

CaptionLoss ShowTell::loss(const Tensor& regions, const CaptionBatch& batch, float smoothing) const {
  const ops::Projection output = output_.weights();
  const ops::Loss words = ops::linear_cross_entropy(decode(regions, batch.captions), output.weight, output.bias,
                                                    batch.labels, {.smoothing = smoothing});
  return {words.mean, words};
}

std::unique_ptr<nn::StepModel> ShowTell::start(Pass& pass, const Tensor& regions, std::int64_t group) const {
  const Tensor seen = see(regions);
  Memory memory;
  if (config_.at_every_step()) memory.image = seen;
  return std::make_unique<RecurrentSteps<ShowTell>>(*this, pass, std::move(memory), begin(seen), group);
}

Tensor ShowTell::step(const Tensor& tokens, const Memory& memory, RecurrentState& state) const {
  const Tensor words = embedding_(tokens);                                                         // [B, group, W]
  const Tensor gates = cell_.gates(memory.image.defined() ? beside(words, memory.image) : words);  // [B, group, 4·H]
  const ops::RecurrentResult next =
      cell_.run(gates.reshape({gates.rows(), 1, gates.width()}), {.hidden = state.hidden, .cell = state.cell});
  state = {next.hidden, next.cell};
  return output_(state.hidden);  // [rows, V]
}

}  // namespace attend::models
