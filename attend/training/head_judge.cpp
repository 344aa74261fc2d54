#include "attend/training/head_judge.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "attend/base/error.h"
#include "attend/metrics/answers.h"
#include "attend/metrics/classification.h"

namespace attend::tasks {

namespace {

constexpr std::size_t kLongestAnswer = 30;  // tokens, as attend answer looks for

std::size_t best_of(std::span<const float> values) {
  return static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

// -log of the softmax at a place.
double loss_at(std::span<const float> logits, std::size_t place) {
  const double most = static_cast<double>(logits[best_of(logits)]);
  double sum = 0;
  for (float logit : logits) sum += std::exp(static_cast<double>(logit) - most);
  return most + std::log(sum) - static_cast<double>(logits[place]);
}

class Mean {
 public:
  void add(double value) { sum_ += value, ++count_; }
  double value() const { return count_ > 0 ? sum_ / count_ : 0; }

 private:
  double sum_ = 0, count_ = 0;
};

class LabelJudge : public Judge {
 public:
  void add(const HeadExample& example, std::span<const float> logits) override {
    truth_.push_back(example.targets[0]);
    predicted_.push_back(static_cast<std::int32_t>(best_of(logits)));
    loss_.add(loss_at(logits, static_cast<std::size_t>(example.targets[0])));
  }
  train::Validation result() const override {
    const double accuracy = metrics::accuracy(predicted_, truth_), f1 = metrics::macro_f1(predicted_, truth_);
    return {.loss = loss_.value(),
            .score = accuracy,
            .text = fmt::format("loss {:.4f}  accuracy {:.2f} %  macro F1 {:.2f} %", loss_.value(), 100 * accuracy,
                                100 * f1),
            .json = {{"loss", loss_.value()}, {"accuracy", accuracy}, {"macro_f1", f1}}};
  }

 private:
  std::vector<std::int32_t> predicted_, truth_;
  Mean loss_;
};

class NumberJudge : public Judge {
 public:
  void add(const HeadExample& example, std::span<const float> logits) override {
    truth_.push_back(static_cast<double>(std::bit_cast<float>(example.targets[0])));
    predicted_.push_back(static_cast<double>(logits[0]));
    loss_.add((predicted_.back() - truth_.back()) * (predicted_.back() - truth_.back()));
  }
  train::Validation result() const override {
    const double pearson = metrics::pearson(predicted_, truth_);
    return {.loss = loss_.value(),
            .score = pearson,
            .text = fmt::format("squared error {:.4f}  Pearson {:.4f}", loss_.value(), pearson),
            .json = {{"loss", loss_.value()}, {"pearson", pearson}}};
  }

 private:
  std::vector<double> predicted_, truth_;
  Mean loss_;
};

class TagJudge : public Judge {
 public:
  TagJudge(const std::vector<data::LabelledText>& texts, const std::vector<std::string>& labels)
      : texts_(texts), labels_(labels) {
    names_ = std::ranges::any_of(labels, [](const std::string& label) { return label.starts_with("B-"); });
  }

  void add(const HeadExample& example, std::span<const float> logits) override {
    const auto at = [&](std::size_t token) { return logits.subspan(token * labels_.size(), labels_.size()); };
    for (std::size_t token = 0; token < example.targets.size(); ++token)
      if (example.targets[token] >= 0) loss_.add(loss_at(at(token), static_cast<std::size_t>(example.targets[token])));
    const std::vector<std::string>& truth = texts_[example.source].tags;
    std::vector<std::string> predicted;
    // A word without a token, cut off or of characters that the tokenizer drops, is said to be outside.
    for (std::int32_t token : example.words)
      predicted.push_back(token < 0 ? "O" : labels_[best_of(at(static_cast<std::size_t>(token)))]);
    for (std::size_t i = 0; i < truth.size(); ++i) accuracy_.add(predicted[i] == truth[i]);
    score_.add(predicted, truth);
  }

  train::Validation result() const override {
    train::Validation result;
    result.loss = loss_.value();
    result.json = {{"loss", loss_.value()}, {"accuracy", accuracy_.value()}};
    result.text = fmt::format("loss {:.4f}  accuracy {:.2f} %", loss_.value(), 100 * accuracy_.value());
    result.score = accuracy_.value();
    if (!names_) return result;
    result.score = score_.f1();
    result.json.update({{"precision", score_.precision()}, {"recall", score_.recall()}, {"f1", score_.f1()}});
    result.text += fmt::format("  names: precision {:.2f} %  recall {:.2f} %  F1 {:.2f} %", 100 * score_.precision(),
                               100 * score_.recall(), 100 * score_.f1());
    return result;
  }

 private:
  const std::vector<data::LabelledText>& texts_;
  const std::vector<std::string>& labels_;
  bool names_ = false;
  metrics::EntityScore score_;
  Mean loss_, accuracy_;
};

class AnswerJudge : public Judge {
 public:
  explicit AnswerJudge(const std::vector<data::LabelledText>& texts) : texts_(texts), best_(texts.size()) {}

  void add(const HeadExample& example, std::span<const float> logits) override {
    const std::size_t tokens = example.text.ids.size();
    const auto starts = logits.subspan(0, tokens), ends = logits.subspan(tokens, tokens);
    loss_.add(loss_at(starts, static_cast<std::size_t>(example.targets[0])) / 2 +
              loss_at(ends, static_cast<std::size_t>(example.targets[1])) / 2);
    Found& best = best_[example.source];
    const EncoderText::Range range = example.text.second;
    for (std::size_t start = range.begin; start < range.end; ++start)
      for (std::size_t end = start; end < std::min(range.end, start + kLongestAnswer); ++end)
        if (const float logit = starts[start] + ends[end]; logit > best.logit)
          best = {logit, {example.text.offsets[start].begin, example.text.offsets[end].end}};
  }

  train::Validation result() const override {
    Mean exact, f1;
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      std::vector<std::string> truths;
      for (const auto& answer : texts_[i].answers) truths.push_back(answer.text);
      const std::string said = characters_of(texts_[i].pair, best_[i].span);
      exact.add(metrics::exact_match(said, truths)), f1.add(metrics::answer_f1(said, truths));
    }
    return {.loss = loss_.value(),
            .score = f1.value(),
            .text = fmt::format("loss {:.4f}  exact match {:.2f} %  F1 {:.2f} %", loss_.value(), 100 * exact.value(),
                                100 * f1.value()),
            .json = {{"loss", loss_.value()}, {"exact_match", exact.value()}, {"f1", f1.value()}}};
  }

 private:
  struct Found {
    float logit = -INFINITY;
    Span span = {};
  };
  const std::vector<data::LabelledText>& texts_;
  std::vector<Found> best_;  // by question
  Mean loss_;
};

}  // namespace

std::unique_ptr<Judge> make_judge(TargetKind kind, const std::vector<data::LabelledText>& texts,
                                  const std::vector<std::string>& labels) {
  switch (kind) {
    case TargetKind::label:
      return std::make_unique<LabelJudge>();
    case TargetKind::number:
      return std::make_unique<NumberJudge>();
    case TargetKind::tags:
      return std::make_unique<TagJudge>(texts, labels);
    case TargetKind::span:
      return std::make_unique<AnswerJudge>(texts);
  }
  fail("training: unknown kind of targets");
}

}  // namespace attend::tasks
