#include "attend/metrics/classification.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "attend/base/error.h"

namespace attend::metrics {

namespace {

void check_sizes(std::size_t predicted, std::size_t truth) {
  check(predicted == truth, "metrics: {} predictions for {} labels", predicted, truth);
}

}  // namespace

double accuracy(std::span<const std::int32_t> predicted, std::span<const std::int32_t> truth) {
  check_sizes(predicted.size(), truth.size());
  if (truth.empty()) return 0;
  std::size_t right = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) right += predicted[i] == truth[i];
  return static_cast<double>(right) / static_cast<double>(truth.size());
}

double macro_f1(std::span<const std::int32_t> predicted, std::span<const std::int32_t> truth) {
  check_sizes(predicted.size(), truth.size());
  struct Counts {
    double right = 0, said = 0;  // said: by either side
  };
  std::map<std::int32_t, Counts> labels;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    ++labels[predicted[i]].said, ++labels[truth[i]].said;
    if (predicted[i] == truth[i]) ++labels[truth[i]].right;
  }
  double sum = 0;
  for (const auto& [label, counts] : labels) sum += 2 * counts.right / counts.said;
  return labels.empty() ? 0 : sum / static_cast<double>(labels.size());
}

double pearson(std::span<const double> predicted, std::span<const double> truth) {
  check_sizes(predicted.size(), truth.size());
  const auto mean = [](std::span<const double> values) {
    double sum = 0;
    for (double value : values) sum += value;
    return sum / std::max<double>(1, static_cast<double>(values.size()));
  };
  const double a = mean(predicted), b = mean(truth);
  double both = 0, one = 0, two = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    both += (predicted[i] - a) * (truth[i] - b);
    one += (predicted[i] - a) * (predicted[i] - a), two += (truth[i] - b) * (truth[i] - b);
  }
  return one > 0 && two > 0 ? both / std::sqrt(one * two) : 0;
}

std::vector<Entity> entities_of(std::span<const std::string> tags) {
  std::vector<Entity> entities;
  bool open = false;
  for (std::size_t i = 0; i < tags.size(); ++i) {
    const bool begins = tags[i].starts_with("B-"), inside = tags[i].starts_with("I-");
    if (!begins && !inside) {
      open = false;
      continue;
    }
    const std::string kind = tags[i].substr(2);
    if (inside && open && entities.back().kind == kind)
      entities.back().end = i + 1;
    else
      entities.push_back({kind, i, i + 1});
    open = true;
  }
  return entities;
}

void EntityScore::add(std::span<const std::string> predicted, std::span<const std::string> truth) {
  check_sizes(predicted.size(), truth.size());
  const std::vector<Entity> said = entities_of(predicted), meant = entities_of(truth);
  predicted_ += static_cast<std::int64_t>(said.size());
  true_ += static_cast<std::int64_t>(meant.size());
  for (const Entity& entity : said) right_ += std::ranges::find(meant, entity) != meant.end();
}

double EntityScore::f1() const {
  const std::int64_t sum = predicted_ + true_;
  return sum ? 2 * static_cast<double>(right_) / static_cast<double>(sum) : 0;
}

}  // namespace attend::metrics
