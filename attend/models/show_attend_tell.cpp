// Show, Attend and Tell (Xu et al. 2015): an LSTM that attends to regions of the image before each word.
#include "attend/models/show_attend_tell.h"

#include <cmath>

#include "attend/base/error.h"
#include "attend/base/fields.h"
#include "attend/base/limits.h"
#include "attend/models/config_checks.h"
#include "attend/ops/activation.h"
#include "attend/ops/additive_attention.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/layout.h"
#include "attend/ops/reduce.h"

namespace attend::models {

void check_config(const ShowAttendTellConfig& config, std::string_view what) {
  check_limited(what, "vocabulary", config.vocabulary, 1, limits::kLargestVocabulary);
  check_limited(what, "max_length", config.max_length, 2, limits::kMostPositions);
  check_limited(what, "width", config.width, 1, limits::kWidestModel);
  check_limited(what, "hidden", config.hidden, 1, limits::kWidestModel);
  check_limited(what, "attention", config.attention, 1, limits::kWidestModel);
  check_rate(what, "dropout", config.dropout);
  check_positive(what, "regularizer", config.regularizer);
  check(config.gate == "scalar" || config.gate == "vector" || config.gate == "none",
        "{}: unknown gate '{}'; there are scalar, vector and none", what, config.gate);
  check_size(what,
             config.vocabulary * (config.width + config.hidden) + 4 * config.hidden * (config.width + config.hidden));
}

// Word embeddings start with unit variance.
ShowAttendTell::ShowAttendTell(const ShowAttendTellConfig& config, std::int64_t regions)
    : config_((check_config(config, "show-attend-tell"), config)),
      initial_hidden_(regions, config.hidden),
      initial_cell_(regions, config.hidden),
      embedding_(config.vocabulary, config.width, {nn::Init::normal, 1}),
      key_(regions, config.attention),
      query_{{config.attention, config.hidden}, nn::Init::xavier(config.hidden, config.attention), nn::Role::weight},
      score_{{1, config.attention}, {nn::Init::uniform, 1 / std::sqrt(static_cast<float>(config.attention))}},
      gate_(config.hidden, config.gate == "vector" ? regions : 1),
      cell_(RnnKind::lstm, config.width + regions, config.hidden),
      output_(config.hidden, config.vocabulary) {}

Json ShowAttendTell::settings() const { return write_fields(config_); }

std::vector<nn::Parameters::Entry> ShowAttendTell::parameters() {
  std::vector<nn::Parameters::Entry> entries = nn::Parameters::list(*this);
  for (nn::Parameters::Entry& entry : entries) entry.name = "decoder." + entry.name;
  return entries;
}

ShowAttendTell::Memory ShowAttendTell::read(const Tensor& regions) const {
  check(regions.rank() == 3, "show-attend-tell: regions are {}, not [B, S, C]", regions.shape());
  return {key_(regions), regions};  // [B, S, A], [B, S, C]
}

RecurrentState ShowAttendTell::begin(const Tensor& regions) const {
  const Tensor mean = ops::mean(regions, 1);  // [B, C]
  // Section 3.1.2: the first state is predicted from the mean region, [B, H].
  return {initial_hidden_(mean, Activation::tanh), initial_cell_(mean, Activation::tanh)};
}

Tensor ShowAttendTell::look(const RecurrentState& state, const Memory& memory) const {
  // Queries [B, rows / B, A]; scores and weights [B, rows / B, S] (equations 4 and 5).
  const Tensor queries = ops::linear(state.hidden, query_).reshape({memory.keys.dim(0), -1, config_.attention});
  return ops::softmax(ops::additive_scores(queries, memory.keys, score_.value.reshape({config_.attention})));
}

Tensor ShowAttendTell::context(const Tensor& weights, const RecurrentState& state, const Memory& memory) const {
  const std::int64_t rows = state.hidden.dim(0);
  // Section 4.2: the weighted mean of the regions, [rows, C].
  const auto mean = [&](const Tensor& x) { return ops::matmul(x, memory.regions).reshape({rows, -1}); };
  if (config_.gate == "none") return mean(weights);
  const Tensor gate = gate_(state.hidden, Activation::sigmoid);  // [rows, 1] or [rows, C]
  if (config_.gate == "vector") return ops::multiply(mean(weights), gate);
  // A scalar gate multiplies the weights instead of the wider context. With rows as the last axis it repeats over
  // regions.
  const Tensor columns = ops::permute(weights.reshape({rows, weights.dim(2)}), {1, 0});  // [S, rows]
  return mean(ops::permute(ops::multiply(columns, gate.reshape({rows})), {1, 0}).reshape(weights.shape()));
}

RecurrentState ShowAttendTell::advance(const Tensor& word, const Tensor& context, const RecurrentState& state) const {
  const Tensor gates = cell_.gates(ops::concat({word, context}, 1));  // [rows, 4·H]
  const ops::RecurrentResult next =
      cell_.run(gates.reshape({gates.rows(), 1, gates.width()}), {.hidden = state.hidden, .cell = state.cell});
  return {next.hidden, next.cell};
}

// Teacher forcing. Where a step attends depends on the state before it, so the steps run one by one.
ShowAttendTell::Written ShowAttendTell::written(const Tensor& regions, const nn::Sequences& captions) const {
  const Tensor words = ops::dropout(embedding_(captions.ids), config_.dropout);  // [B, T, W]
  const std::int64_t batch = words.dim(0), length = words.dim(1);
  const Memory memory = read(regions);
  RecurrentState state = begin(regions);
  std::vector<Tensor> states, attention_weights;
  for (std::int64_t t = 0; t < length; ++t) {
    attention_weights.push_back(look(state, memory));                                // [B, 1, S]
    const Tensor word = ops::slice(words, 1, t, 1).reshape({batch, config_.width});  // [B, W]
    state = advance(word, context(attention_weights.back(), state, memory), state);
    states.push_back(state.hidden.reshape({batch, 1, config_.hidden}));  // [B, 1, H]
  }
  // States [B, T, H] and weights [B, T, S].
  Written result{ops::dropout(ops::concat(states, 1), config_.dropout), ops::concat(attention_weights, 1)};
  nn::show_attention_weights(kAttentionLabel, result.attention_weights, batch);
  return result;
}

// Equation 14: the mean over images and regions of (1 - the total weight that all words gave the region)².
Tensor ShowAttendTell::doubly_stochastic_penalty(const Tensor& attention_weights, const Tensor& counted) const {
  const std::int64_t batch = attention_weights.dim(0), length = attention_weights.dim(1);
  const Tensor words = counted.reshape({batch, 1, length});                                           // [B, 1, T]
  const Tensor sums = ops::matmul(words, ops::cast(attention_weights, DType::f32)).reshape({-1, 1});  // [B·S, 1]
  const Tensor one = like(sums, {1});
  one.backend().fill(one, 1);
  const Tensor missing = ops::add(ops::scale(sums, -1), one);  // [B·S, 1]
  return ops::mean(ops::multiply(missing, missing).reshape({sums.dim(0)}), 0);
}

CaptionLoss ShowAttendTell::loss(const Tensor& regions, const CaptionBatch& batch, float smoothing) const {
  const Written all = written(regions, batch.captions);
  const ops::Projection output = output_.weights();
  const ops::Loss words =
      ops::linear_cross_entropy(all.states, output.weight, output.bias, batch.labels, {.smoothing = smoothing});
  if (config_.regularizer == 0) return {words.mean, words};
  const Tensor attention =
      ops::scale(doubly_stochastic_penalty(all.attention_weights, batch.counted), config_.regularizer);
  return {ops::add(words.mean, attention), words, attention};
}

std::unique_ptr<nn::StepModel> ShowAttendTell::start(Pass& pass, const Tensor& regions, std::int64_t group) const {
  return std::make_unique<RecurrentSteps<ShowAttendTell>>(*this, pass, read(regions), begin(regions), group);
}

Tensor ShowAttendTell::step(const Tensor& tokens, const Memory& memory, RecurrentState& state) const {
  const Tensor weights = look(state, memory);  // [B, group, S]
  nn::show_attention_weights(kAttentionLabel, weights, state.hidden.dim(0));
  state = advance(embedding_(tokens).flat_rows(), context(weights, state, memory), state);
  return output_(state.hidden);  // [rows, V]
}

}  // namespace attend::models
