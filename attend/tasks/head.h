// A model with its head behind one face, for the trainer and for attend classify: classifier (of GPT-2 also),
// regression, tagger, answers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attend/base/json.h"
#include "attend/nn/parameters.h"
#include "attend/tasks/head_batch.h"

namespace attend::tasks {

class Head {
 public:
  virtual ~Head() = default;
  virtual std::vector<nn::Parameters::Entry> parameters() = 0;
  virtual Json config() const = 0;
  // How it reads texts; of GPT-2 what EncoderReader asks for.
  virtual const models::BertConfig& reading() const = 0;
  virtual std::string name() const = 0;                   // "bert"
  virtual std::string prefix() const = 0;                 // of the names of the model without its head
  virtual Tensor loss(const HeadBatch& batch) const = 0;  // the mean, f32 [1]
  // label and number: [texts, labels]; tags: [rows, labels]; span: [2, batch, longest].
  virtual Tensor logits(const HeadBatch& batch) const = 0;
};

// What a new head changes of the config it starts from.
struct NewHead {
  std::vector<std::string> labels = {};
  float dropout = -1;  // of all of the model; -1: as the config says
};

// Of a config.json, which messages call `what`: with the head it has, or with a new one.
std::unique_ptr<Head> make_head(const Json& config, const std::string& what, TargetKind kind,
                                const std::optional<NewHead>& change = {});

}  // namespace attend::tasks
