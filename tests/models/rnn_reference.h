// The recurrent networks in double, one sentence at a time and loop by loop: what RnnSeq2Seq and TextRnn must compute.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "attend/models/rnn_seq2seq.h"

namespace attend::test {

class RnnReference {
 public:
  using Vector = std::vector<double>;
  struct Output {
    std::vector<Vector> logits;   // a target position
    std::vector<Vector> weights;  // where it looked; empty without attention
  };

  RnnReference(const models::RnnConfig& config, const nn::Parameters& parameters) : config_(config) {
    for (const auto& entry : parameters.entries()) {
      const std::vector<float> values = parameters.read(entry);
      weights[entry.name] = Vector(values.begin(), values.end());
    }
  }

  Output run(const std::vector<std::int32_t>& source, const std::vector<std::int32_t>& target) const {
    std::vector<Vector> states;
    for (std::int32_t id : source) states.push_back(embed(id));
    Vector last;
    for (std::int64_t layer = 0; layer < config_.layers; ++layer) last = read_both_ways(states, layer);

    State state{affine("decoder.initial_hidden", last, true), {}};
    if (config_.cell == "lstm") state.cell = affine("decoder.initial_cell", last, true);
    Output output;
    for (std::int32_t id : target) {
      Vector context = last;
      if (config_.attention) {
        output.weights.push_back(look(state.hidden, states));
        context.assign(2 * hidden(), 0);
        for (std::size_t s = 0; s < states.size(); ++s)
          for (std::size_t i = 0; i < context.size(); ++i) context[i] += output.weights.back()[s] * states[s][i];
      }
      const Vector word = embed(id);
      Vector gates = sum(times("decoder.rnn.weight_ih_l0", word), times("decoder.rnn.weight_ch_l0", context));
      state = step("decoder.rnn.", "_l0", sum(gates, weights.at("decoder.rnn.bias_ih_l0")), state);
      Vector both = state.hidden;
      both.insert(both.end(), word.begin(), word.end());
      Vector readout = sum(affine("decoder.readout", both, false), times("decoder.readout_context.weight", context));
      for (double& x : readout) x = std::tanh(x);
      output.logits.push_back(times("embedding.weight", readout));
    }
    return output;
  }

  // The states of the last layer of a TextRnn (text_rnn.h), one for each token. Width and hidden are the same there.
  std::vector<Vector> read_text(const std::vector<std::int32_t>& ids) const {
    std::vector<Vector> states;
    for (std::int32_t id : ids) states.push_back(embed(id));
    for (std::int64_t layer = 0; layer < config_.layers; ++layer) {
      const std::string suffix = "_l" + std::to_string(layer);
      State state{Vector(hidden(), 0), Vector(hidden(), 0)};
      for (Vector& at : states) {
        state =
            step("rnn.", suffix, sum(times("rnn.weight_ih" + suffix, at), weights.at("rnn.bias_ih" + suffix)), state);
        at = state.hidden;
      }
    }
    return states;
  }
  Vector logits_of(const Vector& state) const { return times("embedding.weight", state); }
  Vector label_scores(const Vector& state) const { return affine("score", state, false); }

  std::map<std::string, Vector> weights;

 private:
  struct State {
    Vector hidden, cell;
  };

  std::size_t hidden() const { return static_cast<std::size_t>(config_.hidden); }
  static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
  static Vector sum(Vector a, const Vector& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    return a;
  }
  Vector times(const std::string& name, const Vector& x) const {
    const Vector& weight = weights.at(name);
    Vector y(weight.size() / x.size(), 0);
    for (std::size_t o = 0; o < y.size(); ++o)
      for (std::size_t i = 0; i < x.size(); ++i) y[o] += weight[o * x.size() + i] * x[i];
    return y;
  }
  Vector affine(const std::string& name, const Vector& x, bool squash) const {
    Vector y = sum(times(name + ".weight", x), weights.at(name + ".bias"));
    if (squash)
      for (double& value : y) value = std::tanh(value);
    return y;
  }
  Vector embed(std::int32_t id) const {
    const Vector& table = weights.at("embedding.weight");
    Vector row;
    for (std::int64_t i = 0; i < config_.width; ++i)
      row.push_back(table[static_cast<std::size_t>(id * config_.width + i)] *
                    std::sqrt(static_cast<double>(config_.width)));
    return row;
  }

  // torch's formulas: gru r z n, lstm i f g o.
  State step(const std::string& prefix, const std::string& suffix, const Vector& x, const State& before) const {
    const std::size_t n = hidden();
    const Vector h = sum(times(prefix + "weight_hh" + suffix, before.hidden), weights.at(prefix + "bias_hh" + suffix));
    State after = before;
    for (std::size_t i = 0; i < n; ++i) {
      if (config_.cell == "tanh") {
        after.hidden[i] = std::tanh(x[i] + h[i]);
      } else if (config_.cell == "gru") {
        const double r = sigmoid(x[i] + h[i]), z = sigmoid(x[n + i] + h[n + i]);
        const double candidate = std::tanh(x[2 * n + i] + r * h[2 * n + i]);
        after.hidden[i] = (1 - z) * candidate + z * before.hidden[i];
      } else {
        const double in = sigmoid(x[i] + h[i]), forget = sigmoid(x[n + i] + h[n + i]);
        const double candidate = std::tanh(x[2 * n + i] + h[2 * n + i]), out = sigmoid(x[3 * n + i] + h[3 * n + i]);
        after.cell[i] = forget * before.cell[i] + in * candidate;
        after.hidden[i] = out * std::tanh(after.cell[i]);
      }
    }
    return after;
  }

  // Replaces the states by those of one layer; returns where both directions ended.
  Vector read_both_ways(std::vector<Vector>& states, std::int64_t layer) const {
    std::vector<Vector> result(states.size());
    Vector ends;
    for (const bool reverse : {false, true}) {
      const std::string suffix = "_l" + std::to_string(layer) + (reverse ? "_reverse" : "");
      State state{Vector(hidden(), 0), Vector(hidden(), 0)};
      for (std::size_t i = 0; i < states.size(); ++i) {
        const std::size_t at = reverse ? states.size() - 1 - i : i;
        const Vector gates =
            sum(times("encoder.rnn.weight_ih" + suffix, states[at]), weights.at("encoder.rnn.bias_ih" + suffix));
        state = step("encoder.rnn.", suffix, gates, state);
        result[at].insert(result[at].end(), state.hidden.begin(), state.hidden.end());
      }
      ends.insert(ends.end(), state.hidden.begin(), state.hidden.end());
    }
    states = result;
    return ends;
  }

  // How well the state fits one encoder state: v · tanh(W state + U one), or another score.
  double energy(const Vector& state, const Vector& one) const {
    const std::string& kind = config_.score.attention_score;
    const bool projected = kind == "additive" || kind == "general";
    Vector key(hidden(), 0);
    if (projected && config_.score.attention_bias)
      key = affine("decoder.attention.key", one, false);
    else if (projected)
      key = times("decoder.attention.key.weight", one);
    else
      for (std::size_t i = 0; i < key.size(); ++i) key[i] = one[i] + one[hidden() + i];
    double sum = 0, states = 0, keys = 0;
    const Vector query = kind == "additive" ? times("decoder.attention.query.weight", state) : state;
    for (std::size_t i = 0; i < key.size(); ++i) {
      states += state[i] * state[i], keys += key[i] * key[i];
      sum += kind == "additive" ? weights.at("decoder.attention.score.weight")[i] * std::tanh(query[i] + key[i])
                                : query[i] * key[i];
    }
    if (kind == "scaled-dot") return sum / std::sqrt(static_cast<double>(key.size()));
    if (kind == "cosine") return 10 * weights.at("decoder.attention.score_scale")[0] * sum / std::sqrt(states * keys);
    return sum;
  }

  // The softmax of these scores.
  Vector look(const Vector& state, const std::vector<Vector>& states) const {
    Vector result;
    double total = 0;
    for (const Vector& one : states) total += result.emplace_back(std::exp(energy(state, one)));
    for (double& weight : result) weight /= total;
    return result;
  }

  models::RnnConfig config_;
};

}  // namespace attend::test
