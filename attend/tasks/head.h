// A model with the head that is being tuned, behind one face for the trainer: classifier, regression, tagger, answers.
#pragma once

#include <memory>
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
  virtual Tensor loss(const HeadBatch& batch) const = 0;  // the mean, f32 [1]
  // label and number: [texts, labels]; tags: [rows, labels]; span: [2, batch, longest].
  virtual Tensor logits(const HeadBatch& batch) const = 0;
};

std::unique_ptr<Head> make_head(TargetKind kind, const models::BertConfig& config);

}  // namespace attend::tasks
