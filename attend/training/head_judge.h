// What validation says of a tuned head: the loss, and how good its answers are by the usual measure of the task.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attend/data/labelled_text.h"
#include "attend/train/trainer.h"
#include "attend/training/head_batches.h"

namespace attend::tasks {

class Judge {
 public:
  virtual ~Judge() = default;
  // logits of one example: label and number: [labels]; tags: [tokens, labels]; span: [2, tokens].
  virtual void add(const HeadExample& example, std::span<const float> logits) = 0;
  // Of everything added. score is accuracy, Pearson's correlation, F1 of names (accuracy where tags name nothing), or
  // F1 of answers.
  virtual train::Validation result() const = 0;
};

// texts is what the examples were made from; labels are the model's.
std::unique_ptr<Judge> make_judge(TargetKind kind, const std::vector<data::LabelledText>& texts,
                                  const std::vector<std::string>& labels);

}  // namespace attend::tasks
