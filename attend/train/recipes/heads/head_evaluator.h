// What validation says of a tuned head: the loss, and how good its answers are by the usual measure of the task.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attend/base/json.h"
#include "attend/data/text/labelled_text.h"
#include "attend/tasks/head.h"
#include "attend/train/loop/trainer.h"
#include "attend/train/recipes/heads/head_batches.h"

namespace attend::train {

// What was said of one text that is not quite right.
struct EvaluatedText {
  std::size_t source = 0;  // its number among the texts
  double badness = 0;
  std::string said = {}, should = {};
};
struct EvaluationDetails {
  Json json = Json::object();  // of every label
  std::string table = {};      // the same for people; empty where there are no labels
  std::vector<EvaluatedText> wrong = {};
};

class Evaluator {
 public:
  virtual ~Evaluator() = default;
  // logits of one example: label and number: [labels]; tags: [tokens, labels]; span: [2, tokens].
  virtual void add(const HeadExample& example, std::span<const float> logits) = 0;
  // Of everything added. score is accuracy, Pearson's correlation, F1 of names (accuracy where tags name nothing), or
  // F1 of answers.
  virtual train::Validation result() const = 0;
  virtual EvaluationDetails details() const = 0;
};

// texts is what the examples were made from; labels are the model's.
std::unique_ptr<Evaluator> make_evaluator(tasks::TargetKind kind, const std::vector<data::LabelledText>& texts,
                                          const std::vector<std::string>& labels);

// Hands what the head says of all examples to the evaluator, `batch` texts at a time. batches are those of examples
// like these, and may be used again. By all processes of the world: each computes a part, and each has them all
// evaluated.
struct Judging {
  const tasks::Head& head;
  const tasks::EncoderReader& reader;
  Backend& backend;
  tasks::TargetKind kind;
  std::size_t batch = 32;
};
void evaluate_examples(const Judging& parts, const std::vector<HeadExample>& examples, HeadBatches& batches,
                       Evaluator& evaluator, world::World& world = world::alone());

}  // namespace attend::train
