// How good labels and numbers are: accuracy, F1 averaged over the labels, Pearson's correlation; and names found in
// tagged texts, counted as conlleval and seqeval do.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace attend::metrics {

// Shares of 1; lists of the same length, 0 for empty ones.
double accuracy(std::span<const std::int32_t> predicted, std::span<const std::int32_t> truth);
// The mean, over the labels that occur on either side, of 2·right / (predicted + true).
double macro_f1(std::span<const std::int32_t> predicted, std::span<const std::int32_t> truth);
// Pearson 1895. 0 where one side does not vary.
double pearson(std::span<const double> predicted, std::span<const double> truth);

// Words [begin, end) are one name of a kind.
struct Entity {
  std::string kind;
  std::size_t begin = 0, end = 0;
  bool operator==(const Entity&) const = default;
};

// Of tags in IOB: B-X begins a name, I-X goes on with one of its kind and else begins one, anything else is outside.
std::vector<Entity> entities_of(std::span<const std::string> tags);

// Names right when both their kind and their words are.
class EntityScore {
 public:
  void add(std::span<const std::string> predicted, std::span<const std::string> truth);
  double precision() const { return share(predicted_); }
  double recall() const { return share(true_); }
  double f1() const;

 private:
  double share(std::int64_t of) const { return of ? static_cast<double>(right_) / static_cast<double>(of) : 0; }
  std::int64_t right_ = 0, predicted_ = 0, true_ = 0;
};

}  // namespace attend::metrics
