#include "attend/metrics/confusion.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "attend/base/error.h"

namespace attend::metrics {

namespace {

constexpr std::size_t kWidestTable = 20;  // labels
constexpr std::size_t kMostMistakes = 20;

double share(std::int64_t part, std::int64_t all) {
  return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0;
}

}  // namespace

Confusion::Confusion(std::vector<std::string> labels)
    : labels_(std::move(labels)), table_(labels_.size() * labels_.size()) {}

void Confusion::add(std::int32_t truth, std::int32_t predicted) {
  const auto count = static_cast<std::int32_t>(labels_.size());
  check(truth >= 0 && truth < count && predicted >= 0 && predicted < count, "confusion: {} and {} of {} labels", truth,
        predicted, count);
  ++table_[static_cast<std::size_t>(truth) * labels_.size() + static_cast<std::size_t>(predicted)];
  ++count_;
}

void Confusion::add(std::span<const std::int32_t> truth, std::span<const std::int32_t> predicted) {
  check(truth.size() == predicted.size(), "confusion: {} labels and {} predictions", truth.size(), predicted.size());
  for (std::size_t i = 0; i < truth.size(); ++i) add(truth[i], predicted[i]);
}

std::int64_t Confusion::row_sum(std::size_t label) const {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < labels_.size(); ++i) sum += at(label, i);
  return sum;
}

std::int64_t Confusion::column_sum(std::size_t label) const {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < labels_.size(); ++i) sum += at(i, label);
  return sum;
}

double Confusion::accuracy() const {
  std::int64_t right = 0;
  for (std::size_t i = 0; i < labels_.size(); ++i) right += at(i, i);
  return share(right, count_);
}

double Confusion::precision(std::size_t label) const { return share(at(label, label), column_sum(label)); }
double Confusion::recall(std::size_t label) const { return share(at(label, label), row_sum(label)); }
double Confusion::f1(std::size_t label) const {
  return share(2 * at(label, label), row_sum(label) + column_sum(label));
}

Json Confusion::json() const {
  Json labels = Json::array(), table = Json::array();
  for (std::size_t i = 0; i < labels_.size(); ++i) {
    labels.push_back({{"label", labels_[i]},
                      {"count", row_sum(i)},
                      {"precision", precision(i)},
                      {"recall", recall(i)},
                      {"f1", f1(i)}});
    Json row = Json::array();
    for (std::size_t j = 0; j < labels_.size(); ++j) row.push_back(at(i, j));
    table.push_back(std::move(row));
  }
  return {{"labels", std::move(labels)}, {"confusion", std::move(table)}};
}

std::string Confusion::text() const {
  std::size_t width = 5;
  for (const std::string& label : labels_) width = std::max(width, label.size());
  const bool whole = labels_.size() <= kWidestTable;
  const std::size_t digits = std::to_string(count_).size() + 1;
  std::string text =
      fmt::format("     {:<{}}  {:>7} {:>6} {:>6} {:>6}", "label", width, "count", "prec", "recall", "F1");
  for (std::size_t j = 0; whole && j < labels_.size(); ++j)
    text += fmt::format("{:>{}}", j, j == 0 ? digits + 2 : digits);
  text += '\n';
  for (std::size_t i = 0; i < labels_.size(); ++i) {
    text += fmt::format("{:>4} {:<{}}  {:>7} {:>6.1f} {:>6.1f} {:>6.1f}", i, labels_[i], width, row_sum(i),
                        100 * precision(i), 100 * recall(i), 100 * f1(i));
    for (std::size_t j = 0; whole && j < labels_.size(); ++j)
      text += fmt::format("{:>{}}", at(i, j), j == 0 ? digits + 2 : digits);
    text += '\n';
  }
  return whole ? text : text + mistakes();
}

std::string Confusion::mistakes() const {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t i = 0; i < labels_.size(); ++i)
    for (std::size_t j = 0; j < labels_.size(); ++j)
      if (i != j && at(i, j) > 0) pairs.emplace_back(i, j);
  std::ranges::stable_sort(pairs,
                           [&](const auto& a, const auto& b) { return at(a.first, a.second) > at(b.first, b.second); });
  pairs.resize(std::min(pairs.size(), kMostMistakes));
  std::string text = "\nmistakes made most often:\n";
  for (const auto& [truth, predicted] : pairs)
    text += fmt::format("{:>7}  {} taken for {}\n", at(truth, predicted), labels_[truth], labels_[predicted]);
  return text;
}

}  // namespace attend::metrics
