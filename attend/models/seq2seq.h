// The interface of models that turn one sequence into another, for training and translation: the Transformer
// (transformer.h) and the recurrent network it replaced (rnn_seq2seq.h).
//
//   source [B, S] -> encode -> states [B, S, C];   target [B, T] -> decode -> [B, T, C] -> loss
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

// Teacher forcing: target is the sentence shifted right by one, after a start token; labels hold the token that each
// position should predict.
struct PairBatch {
  nn::Sequences source, target;
  Tensor labels;  // i32, like target.ids

  PairBatch in(Pass& pass) const { return {source.in(pass), target.in(pass), pass.input(labels)}; }
};

// What a decoder reads: the states of its own encoder, or of any other, such as the patches of an image.
struct Encoded {
  Tensor states;              // [B, S, C], or packed [rows, C]
  nn::Sequences places = {};  // lengths or offsets of the sources; the ids are not used
  Tensor summary = {};        // [B, C]: a summary of the source, where a recurrent decoder starts
};

struct Seq2SeqLossOptions {
  float smoothing = 0;         // label smoothing
  std::int32_t ignore = -100;  // positions with this label are ignored
  // R-Drop (Liang et al. 2021): the weight of the divergence between the two halves of the batch. Both halves hold the
  // same sentences, and dropout differs. 0 means an ordinary batch.
  float consistency = 0;
};

// The loss that every such model ends with: states [.., C] against the table [V, C] of the output layer. Labels are i32
// [..].
ops::Loss loss_of(const Tensor& states, const nn::Embedding& table, const Tensor& bias, const Tensor& labels,
                  const Seq2SeqLossOptions& options);

class Seq2Seq {
 public:
  virtual ~Seq2Seq() = default;

  virtual std::int64_t vocabulary() const = 0;
  virtual std::int64_t max_length() const = 0;  // the longest sentence, in tokens
  virtual bool takes_packed() const = 0;        // false: only padded batches are supported
  // What catalogue::make_seq2seq() needs to build the same model again; the first key is "model_type".
  virtual Json config() const = 0;

  // Puts tables that are not trained (positions) on a device. Parameters does so for the rest; call both.
  virtual void place(Backend& backend, DType dtype) = 0;
  virtual std::vector<nn::Parameters::Entry> parameters() = 0;

  // Encoder and decoder. The memory may also come from another encoder.
  virtual Encoded encode(const nn::Sequences& source) const = 0;
  // Teacher forcing: the decoder's states, [B, T, C] for target ids [B, T].
  virtual Tensor decode(const Encoded& memory, const nn::Sequences& target) const = 0;
  Tensor decode(const nn::Sequences& source, const nn::Sequences& target) const {
    return decode(encode(source), target);
  }
  // The loss of such states.
  virtual ops::Loss loss(const Tensor& decoded, const Tensor& labels, const Seq2SeqLossOptions& options) const = 0;
  ops::Loss loss(const PairBatch& batch, const Seq2SeqLossOptions& options) const {
    return loss(decode(batch.source, batch.target), batch.labels, options);
  }
  // Prepares the generation of `group` hypotheses for each memory or source. A memory is padded and belongs to this
  // pass, which does not record. The pass and its probe, if any, must outlive the result.
  virtual std::unique_ptr<nn::StepModel> start(Pass& pass, const Encoded& memory, std::int64_t group) const = 0;
  virtual std::unique_ptr<nn::StepModel> start(Pass& pass, const nn::Sequences& source, std::int64_t group) const {
    return start(pass, encode(source.in(pass)), group);
  }
  // Shows the probe every attention of these pairs: in the encoder, in the decoder and between them. `window` is that
  // of Pass::Options.
  void show(Probe& probe, const nn::Sequences& source, const nn::Sequences& target, std::int64_t window = -1) const;
  // The label under which a probe sees how target positions attend to the source, [B, H, T, S]; empty for a model
  // without attention.
  virtual std::string alignment_label() const = 0;
};

}  // namespace attend::models
