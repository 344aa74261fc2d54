#include "attend/tasks/head.h"

#include <algorithm>

#include "attend/base/error.h"
#include "attend/models/gpt2.h"
#include "attend/models/text_rnn.h"

namespace attend::tasks {

using catalogue::Task;

namespace {

template <class Model>
class BertHead : public Head {
 public:
  explicit BertHead(const models::BertConfig& config) : model_(config) {}
  std::vector<nn::Parameters::Entry> parameters() override { return nn::Parameters::list(model_); }
  Json config() const override { return model_.config(); }
  TextSettings texts() const override { return text_settings(settings()); }
  const std::vector<std::string>& labels() const override { return settings().labels; }
  models::ProblemType problem() const override { return settings().problem; }
  std::int64_t width() const override { return settings().width; }

 protected:
  const models::BertConfig& settings() const { return model_.body().config(); }
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
class GPT2Head : public Head {
 public:
  explicit GPT2Head(const models::GPT2Config& config) : model_(config) {}
  std::vector<nn::Parameters::Entry> parameters() override { return nn::Parameters::list(model_); }
  Json config() const override { return model_.config(); }
  TextSettings texts() const override {
    return {.vocabulary = settings().vocabulary,
            .longest = settings().max_length,
            .start = settings().start,
            .pad = settings().pad};
  }
  const std::vector<std::string>& labels() const override { return settings().labels; }
  models::ProblemType problem() const override { return settings().problem; }
  std::int64_t width() const override { return settings().width; }
  Tensor loss(const HeadBatch& batch) const override {
    return model_.loss(batch.input.texts, batch.last, batch.targets).mean;
  }
  Tensor logits(const HeadBatch& batch) const override { return model_.logits(batch.input.texts, batch.last); }

 private:
  const models::GPT2Config& settings() const { return model_.body().config(); }
  models::GPT2Classifier model_;
};

std::unique_ptr<Head> make_gpt2_head(const catalogue::ModelConfig& model, Task task,
                                     const std::optional<NewHead>& change) {
  check(task == Task::classify && !(change && change->regression), "{}: of GPT-2 there is only a head for labels",
        model.path);
  models::GPT2Config config = models::gpt2_config(model.json, model.path);
  if (change) {
    config.labels = change->labels, config.problem = models::ProblemType::single_label;
    if (change->dropout >= 0) config.dropout = config.attention_dropout = config.embedding_dropout = change->dropout;
    if (config.pad < 0) config.pad = config.end;  // transformers finds the last token by it
  }
  return std::make_unique<GPT2Head>(config);
}

// A recurrent network reads it off the state after the last token.
class TextRnnHead : public Head {
 public:
  explicit TextRnnHead(const models::TextRnnConfig& config) : model_(config) {}
  std::vector<nn::Parameters::Entry> parameters() override { return nn::Parameters::list(model_); }
  Json config() const override { return model_.config(); }
  TextSettings texts() const override {
    return {.vocabulary = settings().vocabulary,
            .longest = settings().max_length,
            .start = settings().start,
            .pad = std::max<std::int64_t>(settings().pad, 0),
            .padded = true};
  }
  const std::vector<std::string>& labels() const override { return settings().labels; }
  std::int64_t width() const override { return settings().width; }
  Tensor loss(const HeadBatch& batch) const override { return model_.loss(batch.input.texts, batch.targets).mean; }
  Tensor logits(const HeadBatch& batch) const override { return model_.logits(batch.input.texts); }

 private:
  const models::TextRnnConfig& settings() const { return model_.body().config(); }
  models::RnnClassifier model_;
};

std::unique_ptr<Head> make_text_rnn_head(const catalogue::ModelConfig& model, Task task,
                                         const std::optional<NewHead>& change) {
  check(task == Task::classify && !(change && change->regression),
        "{}: of a recurrent network there is only a head for labels", model.path);
  models::TextRnnConfig config = models::text_rnn_config(model.json, model.path);
  if (change) {
    config.labels = change->labels;
    if (change->dropout >= 0) config.dropout = change->dropout;
    if (config.pad < 0) config.pad = config.end;
  }
  return std::make_unique<TextRnnHead>(config);
}

std::unique_ptr<Head> make_bert_head(const catalogue::ModelConfig& model, Task task,
                                     const std::optional<NewHead>& change) {
  models::BertConfig config = models::bert_config(model.json, model.path);
  if (change) {
    config.labels = change->labels;
    config.problem = change->regression ? models::ProblemType::regression : models::ProblemType::single_label;
    // As in transformers: only who gives a text one label makes the first token global without being told.
    if (config.family == models::BertFamily::longformer && !model.json.contains("global_tokens"))
      config.window.global_tokens = task == Task::classify ? 1 : 0;
    if (change->dropout >= 0) {
      config.dropout = config.attention_dropout = change->dropout;
      if (config.head_dropout >= 0) config.head_dropout = change->dropout;
    }
  }
  if (task == Task::tag) return std::make_unique<TokenHead<models::TokenTagger>>(config);
  if (task == Task::answer) return std::make_unique<TokenHead<models::QuestionAnswerer>>(config);
  return std::make_unique<ClassifierHead>(config);
}

using catalogue::Family;

// The families whose models take a head for labels, tags or answers.
struct FamilyHead {
  Family family;
  std::unique_ptr<Head> (*make)(const catalogue::ModelConfig& model, Task task,
                                const std::optional<NewHead>& change) = nullptr;
};
constexpr catalogue::FamilyTable<FamilyHead> kFamilyHeads({{Family::bert, make_bert_head},
                                                           {Family::gpt2, make_gpt2_head},
                                                           {Family::text_rnn, make_text_rnn_head},
                                                           {Family::marian},
                                                           {Family::seq2seq},
                                                           {Family::images},
                                                           {Family::detr},
                                                           {Family::captions},
                                                           {Family::sagan}});

}  // namespace

std::unique_ptr<Head> make_head(const catalogue::ModelConfig& model, Task task, const std::optional<NewHead>& change) {
  const auto make = kFamilyHeads[model.entry->family].make;
  check(make != nullptr, "{}: a {} is for {} and takes no head for labels, tags or answers", model.path,
        model.entry->type, name_of(model.task));
  return make(model, task, change);
}

}  // namespace attend::tasks
