#include "attend/train/recipes/heads/head_evaluator.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>

#include "attend/base/error.h"
#include "attend/base/joined.h"
#include "attend/metrics/answers.h"
#include "attend/metrics/classification.h"
#include "attend/metrics/confusion.h"
#include "attend/train/loop/shared_batches.h"

namespace attend::train {

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

class LabelEvaluator : public Evaluator {
 public:
  explicit LabelEvaluator(const std::vector<std::string>& labels) : labels_(labels) {}
  void add(const HeadExample& example, std::span<const float> logits) override {
    truth_.push_back(example.targets[0]);
    predicted_.push_back(static_cast<std::int32_t>(best_of(logits)));
    const double loss = loss_at(logits, static_cast<std::size_t>(example.targets[0]));
    loss_.add(loss);
    if (predicted_.back() != truth_.back())
      wrong_.push_back({example.source, loss, labels_.at(static_cast<std::size_t>(predicted_.back())),
                        labels_.at(static_cast<std::size_t>(truth_.back()))});
  }
  EvaluationDetails details() const override {
    metrics::Confusion confusion(labels_);
    confusion.add(truth_, predicted_);
    return {confusion.json(), confusion.text(), wrong_};
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
  const std::vector<std::string>& labels_;
  std::vector<std::int32_t> predicted_, truth_;
  std::vector<EvaluatedText> wrong_;
  Mean loss_;
};

class NumberJudge : public Evaluator {
 public:
  void add(const HeadExample& example, std::span<const float> logits) override {
    truth_.push_back(static_cast<double>(std::bit_cast<float>(example.targets[0])));
    predicted_.push_back(static_cast<double>(logits[0]));
    const double off = predicted_.back() - truth_.back();
    loss_.add(off * off);
    wrong_.push_back({example.source, std::abs(off), fmt::format("{:.4g}", predicted_.back()),
                      fmt::format("{:.4g}", truth_.back())});
  }
  EvaluationDetails details() const override { return {.wrong = wrong_}; }
  train::Validation result() const override {
    const double pearson = metrics::pearson(predicted_, truth_);
    return {.loss = loss_.value(),
            .score = pearson,
            .text = fmt::format("squared error {:.4f}  Pearson {:.4f}", loss_.value(), pearson),
            .json = {{"loss", loss_.value()}, {"pearson", pearson}}};
  }

 private:
  std::vector<double> predicted_, truth_;
  std::vector<EvaluatedText> wrong_;
  Mean loss_;
};

class TagEvaluator : public Evaluator {
 public:
  TagEvaluator(const std::vector<data::LabelledText>& texts, const std::vector<std::string>& labels)
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
    count(predicted, truth);
    note(example.source, predicted, truth);
  }

  EvaluationDetails details() const override {
    EvaluationDetails details{.wrong = wrong_};
    details.table =
        fmt::format("{:<12} {:>7} {:>6} {:>6} {:>6}\n", names_ ? "name" : "tag", "count", "prec", "recall", "F1");
    Json list = Json::array();
    for (const auto& [kind, found] : counts_) {
      const double precision = share(found.right, found.said), recall = share(found.right, found.there);
      const double f1 = share(2 * found.right, found.said + found.there);
      details.table += fmt::format("{:<12} {:>7} {:>6.1f} {:>6.1f} {:>6.1f}\n", kind, found.there, 100 * precision,
                                   100 * recall, 100 * f1);
      list.push_back(
          {{"label", kind}, {"count", found.there}, {"precision", precision}, {"recall", recall}, {"f1", f1}});
    }
    details.json["labels"] = std::move(list);
    return details;
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
  struct Count {
    std::int64_t right = 0, said = 0, there = 0;
  };
  static double share(std::int64_t part, std::int64_t whole) {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
  }

  // Names by their kind, or, where tags name nothing, words by their tag.
  void count(const std::vector<std::string>& predicted, const std::vector<std::string>& truth) {
    if (!names_) {
      for (std::size_t i = 0; i < truth.size(); ++i)
        ++counts_[predicted[i]].said, ++counts_[truth[i]].there, counts_[truth[i]].right += predicted[i] == truth[i];
      return;
    }
    const std::vector<metrics::Entity> there = metrics::entities_of(truth);
    for (const metrics::Entity& name : there) ++counts_[name.kind].there;
    for (const metrics::Entity& name : metrics::entities_of(predicted))
      ++counts_[name.kind].said, counts_[name.kind].right += std::ranges::find(there, name) != there.end();
  }

  void note(std::size_t source, const std::vector<std::string>& predicted, const std::vector<std::string>& truth) {
    EvaluatedText text{.source = source};
    for (std::size_t i = 0; i < truth.size(); ++i) {
      if (predicted[i] == truth[i]) continue;
      const std::string& word = texts_[source].words[i];
      text.said += fmt::format("{}{} {}", text.said.empty() ? "" : " · ", word, predicted[i]);
      text.should += fmt::format("{}{} {}", text.should.empty() ? "" : " · ", word, truth[i]);
      text.badness += 1;
    }
    if (text.badness > 0) wrong_.push_back(std::move(text));
  }

  const std::vector<data::LabelledText>& texts_;
  const std::vector<std::string>& labels_;
  bool names_ = false;
  metrics::EntityScore score_;
  std::map<std::string, Count> counts_;
  std::vector<EvaluatedText> wrong_;
  Mean loss_, accuracy_;
};

class AnswerEvaluator : public Evaluator {
 public:
  explicit AnswerEvaluator(const std::vector<data::LabelledText>& texts) : texts_(texts), best_(texts.size()) {}

  void add(const HeadExample& example, std::span<const float> logits) override {
    const std::size_t tokens = example.text.ids.size();
    const auto starts = logits.subspan(0, tokens), ends = logits.subspan(tokens, tokens);
    loss_.add(loss_at(starts, static_cast<std::size_t>(example.targets[0])) / 2 +
              loss_at(ends, static_cast<std::size_t>(example.targets[1])) / 2);
    Found& best = best_[example.source];
    const tasks::EncoderText::Range range = example.text.second;
    for (std::size_t start = range.begin; start < range.end; ++start)
      for (std::size_t end = start; end < std::min(range.end, start + kLongestAnswer); ++end)
        if (const float logit = starts[start] + ends[end]; logit > best.logit)
          best = {logit, {example.text.offsets[start].begin, example.text.offsets[end].end}};
  }

  train::Validation result() const override {
    Mean exact, f1;
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      const std::vector<std::string> truths = truths_of(i);
      const std::string said = tasks::characters_of(texts_[i].pair, best_[i].span);
      exact.add(metrics::exact_match(said, truths)), f1.add(metrics::answer_f1(said, truths));
    }
    return {.loss = loss_.value(),
            .score = f1.value(),
            .text = fmt::format("loss {:.4f}  exact match {:.2f} %  F1 {:.2f} %", loss_.value(), 100 * exact.value(),
                                100 * f1.value()),
            .json = {{"loss", loss_.value()}, {"exact_match", exact.value()}, {"f1", f1.value()}}};
  }

  EvaluationDetails details() const override {
    EvaluationDetails details;
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      const std::vector<std::string> truths = truths_of(i);
      const std::string said = tasks::characters_of(texts_[i].pair, best_[i].span);
      if (metrics::exact_match(said, truths) == 0)
        details.wrong.push_back({i, 1 - metrics::answer_f1(said, truths), said, joined(truths, " / ")});
    }
    return details;
  }

 private:
  std::vector<std::string> truths_of(std::size_t text) const {
    std::vector<std::string> truths;
    for (const auto& answer : texts_[text].answers) truths.push_back(answer.text);
    return truths;
  }

  struct Found {
    float logit = -INFINITY;
    text::Span span = {};
  };
  const std::vector<data::LabelledText>& texts_;
  std::vector<Found> best_;  // by question
  Mean loss_;
};

// The logits of a batch, and in front of them how wide they are: labels; of spans the longest text.
std::vector<float> logits_of(const Judging& parts, std::span<const HeadExample* const> examples, HeadBatches& batches) {
  Pass pass(parts.backend);
  const HostHeadBatch host = make_head_batch(parts.reader, parts.kind, examples);
  const Tensor found = parts.head.logits(batches.put(host).in(pass));
  std::vector<float> logits = download(found);
  logits.insert(logits.begin(), static_cast<float>(found.width()));
  return logits;
}

void evaluate_batch(const Judging& parts, std::span<const HeadExample* const> examples, std::size_t count,
                    std::span<const float> logits, Evaluator& evaluator) {
  const auto width = static_cast<std::size_t>(logits[0]);
  const auto all = logits.subspan(1);
  std::size_t row = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t tokens = examples[i]->text.ids.size();
    if (parts.kind == tasks::TargetKind::span) {
      const auto starts = all.subspan(i * width, tokens), ends = all.subspan((examples.size() + i) * width, tokens);
      std::vector<float> both(starts.begin(), starts.end());
      both.insert(both.end(), ends.begin(), ends.end());
      evaluator.add(*examples[i], both);
    } else if (parts.kind == tasks::TargetKind::tags) {
      evaluator.add(*examples[i], all.subspan(row * width, tokens * width));
    } else {
      evaluator.add(*examples[i], all.subspan(i * width, width));
    }
    row += tokens;
  }
}

}  // namespace

std::unique_ptr<Evaluator> make_evaluator(tasks::TargetKind kind, const std::vector<data::LabelledText>& texts,
                                          const std::vector<std::string>& labels) {
  switch (kind) {
    case tasks::TargetKind::label:
      return std::make_unique<LabelEvaluator>(labels);
    case tasks::TargetKind::number:
      return std::make_unique<NumberJudge>();
    case tasks::TargetKind::tags:
      return std::make_unique<TagEvaluator>(texts, labels);
    case tasks::TargetKind::span:
      return std::make_unique<AnswerEvaluator>(texts);
  }
  fail("training: unknown kind of targets");
}

void evaluate_examples(const Judging& parts, const std::vector<HeadExample>& examples, HeadBatches& batches,
                       Evaluator& evaluator, world::World& world) {
  std::vector<std::size_t> order(examples.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return examples[i].text.ids.size(); });
  const auto count_of = [&](std::size_t batch) { return std::min(parts.batch, order.size() - batch * parts.batch); };
  // The last batch is filled up with its last text: all have the same number, so few shapes exist.
  const auto batch_at = [&](std::size_t batch) {
    std::vector<const HeadExample*> list;
    for (std::size_t i = 0; i < parts.batch; ++i)
      list.push_back(&examples[order[batch * parts.batch + std::min(i, count_of(batch) - 1)]]);
    return list;
  };
  const std::size_t count = (order.size() + parts.batch - 1) / parts.batch;
  train::SharedFindings shared(world, count);
  for (std::size_t i = 0; i < count; ++i) {
    if (!shared.mine(i)) continue;
    const std::vector<float> logits = logits_of(parts, batch_at(i), batches);
    shared.set<float>(i, logits);
  }
  const std::vector<std::string>& found = shared.all();
  for (std::size_t i = 0; i < count; ++i)
    evaluate_batch(parts, batch_at(i), count_of(i), train::values_in<float>(found[i]), evaluator);
}

}  // namespace attend::train
