// What training and translation need of a model that turns one sequence into another: the Transformer
// (transformer.h) and the recurrent network it replaced (rnn_seq2seq.h).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "attend/base/json.h"
#include "attend/nn/layers.h"
#include "attend/nn/parameters.h"
#include "attend/nn/sequences.h"
#include "attend/nn/step_model.h"
#include "attend/ops/softmax.h"

namespace attend::models {

// Teacher forcing: target is the sentence moved right by one, behind a start token; labels say what each of its
// positions should answer.
struct PairBatch {
  nn::Sequences source, target;
  Tensor labels;  // i32, like target.ids

  PairBatch in(Pass& pass) const { return {source.in(pass), target.in(pass), pass.input(labels)}; }
};

struct Seq2SeqLossOptions {
  float smoothing = 0;         // of labels
  std::int32_t ignore = -100;  // labels that count for nothing
  // R-Drop (Liang et al. 2021): how much the two halves of the batch, which must be the same sentences, shall agree
  // although dropout hits them differently. 0: an ordinary batch.
  float consistency = 0;
};

// The loss every such model ends in: states [.., C] against the table of the output layer. Labels are like the target.
ops::Loss loss_of(const Tensor& states, const nn::Embedding& table, const Tensor& bias, const Tensor& labels,
                  const Seq2SeqLossOptions& options);

class Seq2Seq {
 public:
  virtual ~Seq2Seq() = default;

  virtual std::int64_t vocabulary() const = 0;
  virtual std::int64_t max_length() const = 0;  // of a sentence, in tokens
  virtual bool takes_packed() const = 0;        // false: loss() wants padded batches
  // What make_seq2seq() needs to build the same model again; the first key is "model_type".
  virtual Json config() const = 0;

  // Puts what is not trained (tables of positions) on a device. Parameters does it for the rest; call both.
  virtual void place(Backend& backend, DType dtype) = 0;
  virtual std::vector<nn::Parameters::Entry> parameters() = 0;

  virtual ops::Loss loss(const PairBatch& batch, const Seq2SeqLossOptions& options) const = 0;
  // Reads the sources (padded, any pass that does not record) and gets ready to write `group` hypotheses for each.
  // The pass and its probe, if any, must outlive the result.
  virtual std::unique_ptr<nn::StepModel> start(Pass& pass, const nn::Sequences& source, std::int64_t group) const = 0;
  // The label under which a probe sees, for every target position, where it looks in the source, [B, H, T, S];
  // empty for a model without attention.
  virtual std::string alignment_label() const = 0;
};

// Throws Error naming the key of config that is missing, unknown or wrong.
std::unique_ptr<Seq2Seq> make_seq2seq(const Json& config, std::string_view what);

}  // namespace attend::models
