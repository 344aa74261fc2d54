#include "attend/tasks/head.h"

#include <nlohmann/json.hpp>

namespace attend::tasks {

namespace {

template <class Model>
class ModelHead : public Head {
 public:
  explicit ModelHead(const models::BertConfig& config) : model_(config) {}
  std::vector<nn::Parameters::Entry> parameters() override { return nn::Parameters::list(model_); }
  Json config() const override { return model_.config(); }

 protected:
  Tensor states(const HeadBatch& batch) const { return model_.body().states(batch.input); }
  Model model_;
};

class ClassifierHead : public ModelHead<models::SequenceClassifier> {
 public:
  using ModelHead::ModelHead;
  Tensor loss(const HeadBatch& batch) const override { return model_.loss(batch.input, batch.targets); }
  Tensor logits(const HeadBatch& batch) const override { return model_.logits(states(batch), batch.input.texts); }
};

template <class Model>
class PlaceHead : public ModelHead<Model> {
 public:
  using ModelHead<Model>::ModelHead;
  Tensor loss(const HeadBatch& batch) const override { return this->model_.loss(batch.input, batch.targets).mean; }
  Tensor logits(const HeadBatch& batch) const override { return this->model_.logits(this->states(batch)); }
};

}  // namespace

std::unique_ptr<Head> make_head(TargetKind kind, const models::BertConfig& config) {
  if (kind == TargetKind::tags) return std::make_unique<PlaceHead<models::TokenTagger>>(config);
  if (kind == TargetKind::span) return std::make_unique<PlaceHead<models::QuestionAnswerer>>(config);
  return std::make_unique<ClassifierHead>(config);
}

}  // namespace attend::tasks
