#include "attend/serve/engine/metrics.h"

#include <fmt/core.h>

#include <cmath>

namespace attend::serve {

namespace {

// A twentieth of a millisecond to a minute for times; names of sizes end otherwise, and are counted by powers of two.
constexpr int kBounds = 21;
double bound_of(std::string_view name, int i) {
  return name.ends_with("size") || name.ends_with("tokens") ? std::exp2(i) : 5e-5 * std::exp2(i);
}

}  // namespace

Metrics::Family& Metrics::family(std::string_view name, const char* type) {
  const auto found = families_.find(name);
  if (found != families_.end()) return found->second;
  Family& made = families_[std::string(name)];
  made.type = type;
  return made;
}

void Metrics::count(std::string_view name, std::string_view labels, double by) {
  const std::lock_guard lock(mutex_);
  family(name, "counter").values[std::string(labels)] += by;
}

void Metrics::set(std::string_view name, double value, std::string_view labels) {
  const std::lock_guard lock(mutex_);
  family(name, "gauge").values[std::string(labels)] = value;
}

void Metrics::observe(std::string_view name, double value) {
  const std::lock_guard lock(mutex_);
  Histogram& histogram = family(name, "histogram").histogram;
  histogram.counts.resize(kBounds + 1);
  int i = 0;
  while (i < kBounds && value > bound_of(name, i)) ++i;
  ++histogram.counts[static_cast<std::size_t>(i)];
  ++histogram.total;
  histogram.sum += value;
}

double Metrics::value(std::string_view name, std::string_view labels) const {
  const std::lock_guard lock(mutex_);
  const auto found = families_.find(name);
  if (found == families_.end()) return 0;
  const auto value = found->second.values.find(std::string(labels));
  return value == found->second.values.end() ? 0 : value->second;
}

std::string Metrics::text() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const auto& [name, family] : families_) {
    text += fmt::format("# TYPE {} {}\n", name, family.type);
    for (const auto& [labels, value] : family.values)
      text += labels.empty() ? fmt::format("{} {}\n", name, value) : fmt::format("{}{{{}}} {}\n", name, labels, value);
    if (family.histogram.total == 0) continue;
    std::uint64_t sum = 0;
    for (int i = 0; i < kBounds; ++i)
      text += fmt::format("{}_bucket{{le=\"{}\"}} {}\n", name, bound_of(name, i),
                          sum += family.histogram.counts[static_cast<std::size_t>(i)]);
    text += fmt::format("{}_bucket{{le=\"+Inf\"}} {}\n{}_sum {}\n{}_count {}\n", name, family.histogram.total, name,
                        family.histogram.sum, name, family.histogram.total);
  }
  return text;
}

}  // namespace attend::serve
