#include "attend/tasks/ensemble.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attend/base/error.h"
#include "attend/base/json.h"

namespace attend::tasks {

namespace {

// Every member takes the step, on its own states; the mean of their probabilities is what the search sees.
class EnsembleSteps final : public nn::StepModel {
 public:
  // A pass for each member: their steps are planned one by one.
  EnsembleSteps(const std::vector<const models::Seq2Seq*>& models, Backend& backend, const nn::Sequences& source,
                std::int64_t group) {
    for (const models::Seq2Seq* model : models) {
      passes_.push_back(std::make_unique<Pass>(backend));
      members_.push_back(model->start(*passes_.back(), source, group));
    }
    suppressed_.resize(static_cast<std::size_t>(vocabulary()));
  }

  std::int64_t vocabulary() const override { return members_.front()->vocabulary(); }

  std::int64_t suppress(std::span<const std::int32_t> ids) override {
    for (const std::int32_t id : ids) suppressed_.at(static_cast<std::size_t>(id)) = true;
    return std::ranges::count(suppressed_, false);
  }

  Scores step(std::span<const std::int32_t> tokens, const Wanted& wanted) override {
    const auto width = static_cast<std::size_t>(vocabulary());
    const std::size_t rows = tokens.size();
    logits_.assign(rows * width, 0);
    for (const auto& member : members_) {
      const Scores scores = member->step(tokens);
      for (std::size_t i = 0; i < logits_.size(); ++i)
        logits_[i] += std::exp(scores.logits[i] - scores.log_sums[i / width]);
    }
    const auto count = static_cast<float>(members_.size());
    for (float& value : logits_) value = value > 0 ? std::log(value / count) : -INFINITY;  // NaN counts as none
    log_sums_.assign(rows, 0);  // they are logarithms of probabilities already
    if (wanted.top_k <= 0) return {logits_, log_sums_};
    return likeliest(rows, width, static_cast<std::size_t>(wanted.top_k));
  }

  void reorder(std::span<const std::int32_t> from) override {
    for (const auto& member : members_) member->reorder(from);
  }
  bool drops_rows_cheaply() const override { return members_.front()->drops_rows_cheaply(); }  // all on one device

 private:
  // The k most likely tokens of each row that are not suppressed; equal ones by id.
  Scores likeliest(std::size_t rows, std::size_t width, std::size_t k) {
    ids_.clear(), top_.clear();
    std::vector<std::int32_t> order;
    for (std::size_t row = 0; row < rows; ++row) {
      const float* values = &logits_[row * width];
      order.clear();
      for (std::size_t id = 0; id < width; ++id)
        if (!suppressed_[id]) order.push_back(static_cast<std::int32_t>(id));
      std::partial_sort(
          order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k), order.end(),
          [values](std::int32_t a, std::int32_t b) { return values[a] != values[b] ? values[a] > values[b] : a < b; });
      for (std::size_t i = 0; i < k; ++i) ids_.push_back(order[i]), top_.push_back(values[order[i]]);
    }
    return {top_, log_sums_, ids_};
  }

  std::vector<std::unique_ptr<Pass>> passes_;
  std::vector<std::unique_ptr<nn::StepModel>> members_;
  std::vector<bool> suppressed_;
  std::vector<float> logits_, log_sums_, top_;
  std::vector<std::int32_t> ids_;
};

[[noreturn]] void refuse() { fail("ensemble: several models translate together, and do nothing else"); }

void check_same_tokens(const LoadedTranslator& a, const LoadedTranslator& b, const std::filesystem::path& first,
                       const std::filesystem::path& second) {
  check(a.model->vocabulary() == b.model->vocabulary(), "translate: '{}' has {} tokens and '{}' {}", first.string(),
        a.model->vocabulary(), second.string(), b.model->vocabulary());
  const auto count = static_cast<text::TokenId>(a.model->vocabulary());
  for (text::TokenId id = 0; id < count; ++id)
    check(a.tokenizer.id_to_token(id) == b.tokenizer.id_to_token(id) && a.translator.start() == b.translator.start(),
          "translate: token {} of '{}' and of '{}' differ; models that translate together share a tokenizer", id,
          first.string(), second.string());
}

std::vector<std::unique_ptr<LoadedTranslator>> load_members(const std::vector<std::filesystem::path>& folders,
                                                            Backend& backend, const nn::ModelFormat& format) {
  check(!folders.empty(), "translate: no model");
  std::vector<std::unique_ptr<LoadedTranslator>> members;
  for (const std::filesystem::path& folder : folders) {
    members.push_back(load_translator(folder, backend, format));
    check_same_tokens(*members.front(), *members.back(), folders.front(), folder);
  }
  return members;
}

std::vector<const models::Seq2Seq*> models_of(const std::vector<std::unique_ptr<LoadedTranslator>>& members) {
  std::vector<const models::Seq2Seq*> models;
  for (const auto& member : members) models.push_back(member->model.get());
  return models;
}

}  // namespace

Ensemble::Ensemble(std::vector<const models::Seq2Seq*> members) : members_(std::move(members)) {}

std::int64_t Ensemble::max_length() const {
  std::int64_t least = members_.front()->max_length();
  for (const models::Seq2Seq* member : members_) least = std::min(least, member->max_length());
  return least;
}

Json Ensemble::config() const { refuse(); }
void Ensemble::place(Backend&, DType) { refuse(); }
models::Encoded Ensemble::encode(const nn::Sequences&) const { refuse(); }
Tensor Ensemble::decode(const models::Encoded&, const nn::Sequences&) const { refuse(); }
ops::Loss Ensemble::loss(const Tensor&, const Tensor&, const models::Seq2SeqLossOptions&) const { refuse(); }
std::unique_ptr<nn::StepModel> Ensemble::start(Pass&, const models::Encoded&, std::int64_t) const { refuse(); }

std::unique_ptr<nn::StepModel> Ensemble::start(Pass& pass, const nn::Sequences& source, std::int64_t group) const {
  return std::make_unique<EnsembleSteps>(members_, pass.backend(), source, group);
}

LoadedTranslators::LoadedTranslators(const std::vector<std::filesystem::path>& folders, Backend& backend,
                                     const nn::ModelFormat& format)
    : members_(load_members(folders, backend, format)) {
  if (members_.size() == 1) return;
  const LoadedTranslator& first = *members_.front();
  ensemble_ = std::make_unique<Ensemble>(models_of(members_));
  translator_ = std::make_unique<Translator>(*ensemble_, first.tokenizer, backend, first.translator.start(),
                                             first.translator.defaults());
}

LoadedTranslators::~LoadedTranslators() = default;

const models::Seq2Seq& LoadedTranslators::model() const { return ensemble_ ? *ensemble_ : *members_.front()->model; }
const Translator& LoadedTranslators::translator() const {
  return translator_ ? *translator_ : members_.front()->translator;
}

}  // namespace attend::tasks
