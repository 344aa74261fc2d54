// A model of BERT's family looked at: what its masks hide, its label, its tags, its answer to a question, or its
// attention alone. A question and the text that answers it come as one text: the question ends with the first question
// mark.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attend/look/inspect/inspect.h"
#include "attend/tasks/encoder_model.h"

namespace attend::look {

// A model with any of the heads, or none.
class InspectedEncoder {
 public:
  virtual ~InspectedEncoder() = default;
  virtual const tasks::EncoderReader& reader() const = 0;
  virtual const models::Bert& body() const = 0;
  virtual nn::Parameters& parameters() = 0;
  virtual std::string kind() const = 0;    // of the model card
  virtual std::string prefix() const = 0;  // of the body's parameters
  // What the head says: of each of these rows (masks, words) or of the whole text, [.., choices]. Undefined: no head.
  virtual Tensor answer(const Tensor& states, const nn::Sequences& texts, const Tensor& rows) const = 0;
};

class EncoderInspector : public Inspector {
 public:
  // backend must outlive it.
  EncoderInspector(const std::filesystem::path& folder, Backend& backend, DType dtype);

  Inspection inspect(const std::string& text, const InspectOptions& options) override;
  using Inspector::inspect;
  view::Trace trace(const TraceRequest& request) override;
  Output output(const TraceRequest& request) override;
  EncoderStates states(const StatesRequest& request) override;
  PositionTable positions(std::int64_t rows) const override;

 private:
  struct Read {  // what is left of a text
    tasks::EncoderText text;
    std::vector<std::size_t> kept;  // which of the whole text's tokens these are
    bool positions = true;
    std::int64_t window = -1;  // Ablation::window
  };
  // Offsets are in characters of the text as it was given.
  tasks::EncoderText encode(const std::string& text) const;
  static Read reduced(const tasks::EncoderText& text, const Ablation& ablation);
  models::BertInput input_of(const Read& read) const;
  std::vector<std::int32_t> marked_in(const Read& read) const;
  // Which of its tokens the head is asked about: the masks, the first of each word, those that may hold the answer, or
  // the first for the text as a whole.
  std::vector<std::int32_t> asked(const Read& read, const tasks::EncoderText& whole) const;
  // What the head says about these, [rows, choices]; the probe, if any, sees the attention.
  std::vector<float> ask(const Read& read, const std::vector<std::int32_t>& rows, Probe* probe) const;
  InspectedStep step_of(std::span<const float> logits, std::size_t candidates) const;
  // The best answers by their logits, [2, rows].
  void find_answer(const std::string& text, const tasks::EncoderText& whole, std::span<const std::size_t> places,
                   std::span<const float> logits, std::size_t candidates, Inspection& result) const;
  void describe(const std::string& text, Inspection& result) const;
  std::string name_of_choice(std::int32_t id) const;
  std::vector<std::string> labels(const std::string& text, const tasks::EncoderText& read) const;

  std::unique_ptr<InspectedEncoder> encoder_;
  Backend& backend_;
  std::int32_t mask_id_ = -1;
};

}  // namespace attend::look
