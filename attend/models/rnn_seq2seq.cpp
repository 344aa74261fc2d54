// The recurrent encoder-decoder (Bahdanau et al. 2015; Cho et al. 2014): its forward pass for training, and its steps.
#include "attend/models/rnn_seq2seq.h"

#include <cmath>

#include "attend/base/error.h"
#include "attend/base/fields.h"
#include "attend/base/limits.h"
#include "attend/models/config_checks.h"
#include "attend/models/rnn_cell.h"
#include "attend/models/rnn_decoder.h"
#include "attend/ops/additive_attention.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/layout.h"
#include "attend/ops/linear.h"

namespace attend::models {

namespace {

constexpr const char* kRnnName = "rnn";

// Repeats [B, C] to [B, count, C]. Adding zeros does it, because the gradient is then one sum over all copies.
Tensor repeated(const Tensor& x, std::int64_t count) {
  if (count == 1) return x.reshape({x.dim(0), 1, x.dim(1)});
  const Tensor zeros = like(x, {count, x.dim(0), x.dim(1)});
  x.backend().fill(zeros, 0);
  return ops::permute(ops::add(zeros, x), {1, 0, 2});
}

}  // namespace

void check_config(const RnnConfig& config, std::string_view what) {
  check_limited(what, "vocabulary", config.vocabulary, 1, limits::kLargestVocabulary);
  check_limited(what, "width", config.width, 1, limits::kWidestModel);
  check_limited(what, "hidden", config.hidden, 1, limits::kWidestModel);
  check_limited(what, "layers", config.layers, 1, limits::kMostLayers);
  check_limited(what, "max_length", config.max_length, 1, limits::kMostPositions);
  check_rate(what, "dropout", config.dropout);
  // Each direction of an encoder layer reads both directions of the layer below, with up to four gates.
  const std::int64_t gates = 4 * config.hidden;
  check_size(what, config.vocabulary * config.width + config.layers * 2 * gates * 3 * config.hidden +
                       gates * (config.width + 3 * config.hidden));
  rnn_cell(config.cell, what);
  config.score.score(what);
}

RnnDecoderLayer::RnnDecoderLayer(const RnnConfig& config)
    : attention_(config.attention),
      lstm_(rnn_cell(config.cell, kRnnName) == RnnKind::lstm),
      dropout_(config.dropout),
      rnn_(rnn_cell(config.cell, kRnnName), config.width, config.hidden),
      context_gates_{{gates_of(rnn_cell(config.cell, kRnnName)) * config.hidden, 2 * config.hidden},
                     nn::Init::xavier(2 * config.hidden, config.hidden),
                     nn::Role::weight},
      initial_hidden_(2 * config.hidden, config.hidden),
      initial_cell_(2 * config.hidden, config.hidden),
      query_{{config.hidden, config.hidden}, nn::Init::xavier(config.hidden, config.hidden), nn::Role::weight},
      key_(2 * config.hidden, config.hidden, {.bias = config.score.attention_bias}),
      score_{{config.hidden}, {nn::Init::uniform, 1 / std::sqrt(static_cast<float>(config.hidden))}},
      comparison_(config.score.score(kRnnName), config.hidden, 1),
      readout_(config.hidden + config.width, config.width),
      context_readout_{
          {config.width, 2 * config.hidden}, nn::Init::xavier(2 * config.hidden, config.width), nn::Role::weight} {}

RnnDecoderLayer::Memory RnnDecoderLayer::read(const Encoded& source) const {
  check(source.states.rank() == 3 && source.summary.defined(),
        "rnn: a memory must be padded, [B, S, C], not {}, and have a summary", source.states.shape());
  const Tensor& read = attention_ ? source.states : source.summary;  // [B, S, 2·H], or [B, 2·H]
  // Keys [B, S, H], context in the gates [B, S, G·H], context in the readout [B, S, W].
  return {attention_ ? keys(read) : Tensor(), ops::linear(read, context_gates_), ops::linear(read, context_readout_),
          source.places.lengths};
}

RnnDecoderLayer::State RnnDecoderLayer::start(const Encoded& source, std::int64_t group) const {
  // [B, H] -> [B·group, H]
  const auto rows = [&](const Tensor& x) { return repeated(x, group).reshape({-1, x.width()}); };
  return {rows(initial_hidden_(source.summary, Activation::tanh)),
          lstm_ ? rows(initial_cell_(source.summary, Activation::tanh)) : Tensor()};
}

Tensor RnnDecoderLayer::keys(const Tensor& states) const {
  if (comparison_.kind() == nn::Score::additive || comparison_.kind() == nn::Score::general) return key_(states);
  // Scores without a projection compare vectors of one width: the states of both directions are added (Luong et al.
  // 2015 have one direction). The gates and the readout still read both.
  const std::int64_t width = states.width() / 2;
  return comparison_.key(ops::add(ops::slice(states, 2, 0, width), ops::slice(states, 2, width, width)));
}

Tensor RnnDecoderLayer::look(const State& state, const Memory& memory) const {
  if (!attention_) return {};
  const std::int64_t sources = memory.keys.dim(0), width = memory.keys.dim(2);
  // Rows of one source are queries of one batch entry: [B, rows / B, H].
  const auto queries = [&](const Tensor& rows) { return rows.reshape({sources, -1, width}); };
  Tensor scores;  // [B, rows / B, S]
  if (comparison_.kind() == nn::Score::additive) {
    scores = ops::additive_scores(queries(ops::linear(state.hidden, query_)), memory.keys, score_);
  } else {
    // The general score has its matrix in the keys.
    const Tensor query = comparison_.kind() == nn::Score::general ? state.hidden : comparison_.query(state.hidden);
    const float scale = comparison_.scale() != 0 ? comparison_.scale() : 1 / std::sqrt(static_cast<float>(width));
    scores = ops::matmul(queries(query), memory.keys, {.transpose_b = true, .alpha = scale});
  }
  return ops::softmax(scores, memory.lengths);  // padding gets 0
}

Tensor RnnDecoderLayer::context(const Tensor& weights, const Tensor& projected, std::int64_t count) const {
  // [B, count, S] x [B, S, C] -> [B, count, C]
  return attention_ ? ops::matmul(weights, projected) : repeated(projected, count);
}

RnnDecoderLayer::State RnnDecoderLayer::advance(const Tensor& gates, const State& state) const {
  const ops::RecurrentResult next =
      rnn_.run(gates.reshape({gates.rows(), 1, gates.width()}), {.hidden = state.hidden, .cell = state.cell});
  return {next.hidden, next.cell};  // [rows, H] each
}

Tensor RnnDecoderLayer::finish(const Tensor& states, const Tensor& embedded, const Tensor& context) const {
  // [.., H + W] -> [.., W]
  return ops::dropout(ops::tanh(ops::add(readout_(ops::concat({states, embedded}, -1)), context)), dropout_);
}

Tensor RnnDecoderLayer::operator()(const Tensor& embedded, const Memory& memory, State state) const {
  const std::int64_t batch = embedded.dim(0), length = embedded.dim(1), width = state.hidden.width();
  const Tensor gates = rnn_.gates(embedded);  // [B, T, G·H]
  if (!attention_) {
    const Tensor all = ops::add(gates, repeated(memory.gates, length));  // [B, T, G·H]
    // Without attention no step depends on weights, so all run in one op: [B, T, H].
    const Tensor states = rnn_.run(all, {.hidden = state.hidden, .cell = state.cell}).states;
    return finish(states, embedded, repeated(memory.readout, length));
  }
  // Where a step attends depends on the state before it, so the steps run one by one.
  std::vector<Tensor> states, attention_weights;
  for (std::int64_t t = 0; t < length; ++t) {
    attention_weights.push_back(look(state, memory));  // [B, 1, S]
    // The gates of one step, [B, 1, G·H], get the context's share.
    state = advance(ops::add(ops::slice(gates, 1, t, 1), ops::matmul(attention_weights.back(), memory.gates)), state);
    states.push_back(state.hidden.reshape({batch, 1, width}));  // [B, 1, H]
  }
  const Tensor weights = ops::concat(attention_weights, 1);  // [B, T, S]
  nn::show_attention_weights(RnnSeq2Seq::kAttentionLabel, weights, batch);
  // Readouts [B, T, W].
  return finish(ops::concat(states, 1), embedded, ops::matmul(weights, memory.readout));
}

Tensor RnnDecoderLayer::step(const Tensor& embedded, const Memory& memory, State& state) const {
  const std::int64_t batch = embedded.dim(0), group = embedded.dim(1);
  const Tensor weights = look(state, memory);  // [B, group, S]
  if (attention_) nn::show_attention_weights(RnnSeq2Seq::kAttentionLabel, weights, batch * group);
  // Gates [B, group, G·H], one row per hypothesis.
  state = advance(ops::add(rnn_.gates(embedded), context(weights, memory.gates, group)), state);
  // Readouts [B, group, W].
  return finish(state.hidden.reshape({batch, group, -1}), embedded, context(weights, memory.readout, group));
}

RnnSeq2Seq::RnnSeq2Seq(const RnnConfig& config)
    : config_((check_config(config, kRnnName), config)),
      embedding_(config.vocabulary, config.width),
      encoder_({rnn_cell(config.cell, kRnnName), config.width, config.hidden, config.layers, config.dropout}),
      decoder_(config) {}

Json RnnSeq2Seq::config() const {
  Json json = {{"model_type", "rnn"}};
  json.update(write_fields(config_));
  config_.leave_out_of(json);
  return json;
}

Tensor RnnSeq2Seq::embed(const Tensor& ids) const {
  // Rows of the table have length about 1, as the output layer needs. Multiplied by sqrt(W), they enter with unit
  // variance.
  return ops::dropout(embedding_(ids, {.scale = std::sqrt(static_cast<float>(config_.width))}), config_.dropout);
}

Encoded RnnSeq2Seq::encode(const nn::Sequences& source) const {
  check(!source.packed() && source.ids.rank() == 2, "rnn: sources must be padded, [B, S]");
  const nn::BidirectionalRnn::Result read = encoder_(embed(source.ids), source.lengths);  // [B, S, 2·H], [B, 2·H]
  return {read.states, source, read.last};
}

Tensor RnnSeq2Seq::decode(const Encoded& memory, const nn::Sequences& target) const {
  const std::int64_t sources = memory.states.dim(0);
  check(!target.packed() && target.ids.rank() == 2 && target.ids.dim(0) == sources,
        "rnn: targets must be padded, [B, T], one for each of the {} sources", sources);
  check(target.ids.dim(1) > 0, "rnn: the targets are empty");
  const RnnDecoderLayer::Memory read = decoder_.read(memory);
  return decoder_(embed(target.ids), read, decoder_.start(memory, 1));  // [B, T, W]
}

std::unique_ptr<nn::StepModel> RnnSeq2Seq::start(Pass& pass, const Encoded& memory, std::int64_t group) const {
  return std::make_unique<RnnDecoder>(*this, pass, memory, group);
}

std::unique_ptr<Seq2Seq> make_rnn(const Json& config, std::string_view what) {
  RnnConfig settings;
  read_fields(settings, config, what);
  check_config(settings, what);
  return std::make_unique<RnnSeq2Seq>(settings);
}

}  // namespace attend::models
