// What training and translation need of a model that turns one sequence into another: the Transformer
// (transformer.h) and the recurrent network it replaced (rnn_seq2seq.h).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "attend/base/json_fwd.h"
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

// What a decoder reads: the states of its own encoder, or of any other (of an image's patches, say).
struct Encoded {
  Tensor states;              // [B, S, C], or packed [rows, C]
  nn::Sequences places = {};  // lengths, or offsets; the ids are of no interest
  Tensor summary = {};        // [B, C]: one vector for all of them, from which a recurrent decoder starts
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
  // What catalogue::make_seq2seq() needs to build the same model again; the first key is "model_type".
  virtual Json config() const = 0;

  // Puts what is not trained (tables of positions) on a device. Parameters does it for the rest; call both.
  virtual void place(Backend& backend, DType dtype) = 0;
  virtual std::vector<nn::Parameters::Entry> parameters() = 0;

  // The two sides. The memory may come from elsewhere than encode().
  virtual Encoded encode(const nn::Sequences& source) const = 0;
  // Teacher forcing: the decoder's states, like the target's ids.
  virtual Tensor decode(const Encoded& memory, const nn::Sequences& target) const = 0;
  Tensor decode(const nn::Sequences& source, const nn::Sequences& target) const {
    return decode(encode(source), target);
  }
  // Of such states.
  virtual ops::Loss loss(const Tensor& decoded, const Tensor& labels, const Seq2SeqLossOptions& options) const = 0;
  ops::Loss loss(const PairBatch& batch, const Seq2SeqLossOptions& options) const {
    return loss(decode(batch.source, batch.target), batch.labels, options);
  }
  // Gets ready to write `group` hypotheses for each memory (padded, of this pass, which does not record) or source. The
  // pass and its probe, if any, must outlive the result.
  virtual std::unique_ptr<nn::StepModel> start(Pass& pass, const Encoded& memory, std::int64_t group) const = 0;
  std::unique_ptr<nn::StepModel> start(Pass& pass, const nn::Sequences& source, std::int64_t group) const {
    return start(pass, encode(source.in(pass)), group);
  }
  // Shows the probe every attention of these pairs, of both sides and between them; window: as Pass::Options has it.
  void show(Probe& probe, const nn::Sequences& source, const nn::Sequences& target, std::int64_t window = -1) const;
  // The label under which a probe sees, for every target position, where it looks in the source, [B, H, T, S];
  // empty for a model without attention.
  virtual std::string alignment_label() const = 0;
};

}  // namespace attend::models
