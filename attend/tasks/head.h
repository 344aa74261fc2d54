// A model with its head behind one face, for the trainer and for attend classify: classifier, regression, tagger,
// answers of BERT's family, and the classifiers of GPT-2 and of recurrent networks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attend/base/json_fwd.h"
#include "attend/models/problem_type.h"
#include "attend/nn/parameters.h"
#include "attend/tasks/head_batch.h"

namespace attend::tasks {

class Head {
 public:
  virtual ~Head() = default;
  virtual std::vector<nn::Parameters::Entry> parameters() = 0;
  virtual Json config() const = 0;
  virtual TextSettings texts() const = 0;
  virtual const std::vector<std::string>& labels() const = 0;  // none of one that answers
  virtual models::ProblemType problem() const { return models::ProblemType::single_label; }
  // A number instead of a label.
  bool regression() const { return problem() == models::ProblemType::regression; }
  virtual std::int64_t width() const = 0;                 // of the model
  virtual Tensor loss(const HeadBatch& batch) const = 0;  // the mean, f32 [1]
  // label and number: [texts, labels]; tags: [rows, labels]; span: [2, batch, longest].
  virtual Tensor logits(const HeadBatch& batch) const = 0;
};

// What a new head changes of the config it starts from.
struct NewHead {
  std::vector<std::string> labels = {};
  bool regression = false;  // the label is a number
  float dropout = -1;       // of all of the model; -1: as the config says
};

// A model for one of the tasks in labelled_tasks.h, with the head that the config has, or with a new one. Throws Error
// for a model that takes no such head.
std::unique_ptr<Head> make_head(const catalogue::ModelConfig& model, catalogue::Task task,
                                const std::optional<NewHead>& change = {});

}  // namespace attend::tasks
