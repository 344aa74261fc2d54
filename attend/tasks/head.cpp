#include "attend/tasks/head.h"

#include <algorithm>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/models/gpt2.h"

namespace attend::tasks {

namespace {

template <class Model>
class BertHead : public Head {
 public:
  explicit BertHead(const models::BertConfig& config) : model_(config) {}
  std::vector<nn::Parameters::Entry> parameters() override { return nn::Parameters::list(model_); }
  Json config() const override { return model_.config(); }
  const models::BertConfig& reading() const override { return model_.body().config(); }
  std::string name() const override { return models::name_of(reading().family); }
  std::string prefix() const override { return name(); }

 protected:
  Tensor states(const HeadBatch& batch) const { return model_.body().states(batch.input); }
  Model model_;
};

class ClassifierHead : public BertHead<models::SequenceClassifier> {
 public:
  using BertHead::BertHead;
  Tensor loss(const HeadBatch& batch) const override { return model_.loss(batch.input, batch.targets); }
  Tensor logits(const HeadBatch& batch) const override { return model_.logits(states(batch), batch.input.texts); }
};

// Of every token.
template <class Model>
class TokenHead : public BertHead<Model> {
 public:
  using BertHead<Model>::BertHead;
  Tensor loss(const HeadBatch& batch) const override { return this->model_.loss(batch.input, batch.targets).mean; }
  Tensor logits(const HeadBatch& batch) const override { return this->model_.logits(this->states(batch)); }
};

// GPT-2 reads the label off a text's last token.
class Gpt2Head : public Head {
 public:
  explicit Gpt2Head(const models::GPT2Config& config) : model_(config) {
    reading_ = {.vocabulary = config.vocabulary, .max_length = config.max_length, .types = 1};
    reading_.width = config.width, reading_.start = config.start, reading_.pad = std::max<std::int64_t>(config.pad, 0);
    reading_.labels = config.labels;
  }
  std::vector<nn::Parameters::Entry> parameters() override { return nn::Parameters::list(model_); }
  Json config() const override { return model_.config(); }
  const models::BertConfig& reading() const override { return reading_; }
  std::string name() const override { return "gpt2"; }
  std::string prefix() const override { return models::kGPT2Prefix; }
  Tensor loss(const HeadBatch& batch) const override {
    return model_.loss(batch.input.texts, batch.last, batch.targets).mean;
  }
  Tensor logits(const HeadBatch& batch) const override { return model_.logits(batch.input.texts, batch.last); }

 private:
  models::GPT2Classifier model_;
  models::BertConfig reading_;
};

std::unique_ptr<Head> make_gpt2_head(const Json& json, const std::string& what, TargetKind kind,
                                     const std::optional<NewHead>& change) {
  check(kind == TargetKind::label, "{}: of GPT-2 there is only a head for labels", what);
  models::GPT2Config config = models::gpt2_config(json, what);
  if (change) {
    config.labels = change->labels;
    if (change->dropout >= 0) config.dropout = config.attention_dropout = config.embedding_dropout = change->dropout;
    if (config.pad < 0) config.pad = config.end;  // transformers finds the last token by it
  }
  return std::make_unique<Gpt2Head>(config);
}

}  // namespace

std::unique_ptr<Head> make_head(const Json& json, const std::string& what, TargetKind kind,
                                const std::optional<NewHead>& change) {
  const auto type = json.is_object() ? json.find("model_type") : json.end();
  if (type != json.end() && *type == "gpt2") return make_gpt2_head(json, what, kind, change);
  models::BertConfig config = models::bert_config(json, what);
  if (change) {
    config.labels = change->labels;
    config.regression = kind == TargetKind::number;
    if (change->dropout >= 0) {
      config.dropout = config.attention_dropout = change->dropout;
      if (config.head_dropout >= 0) config.head_dropout = change->dropout;
    }
  }
  if (kind == TargetKind::tags) return std::make_unique<TokenHead<models::TokenTagger>>(config);
  if (kind == TargetKind::span) return std::make_unique<TokenHead<models::QuestionAnswerer>>(config);
  return std::make_unique<ClassifierHead>(config);
}

}  // namespace attend::tasks
