// The gradients of a model in buckets, each handed over as soon as the backward pass is done with it, so that it can be
// summed with other processes' while the rest is computed (Li et al. 2020, PyTorch Distributed). Which op writes a
// gradient last is seen in the first backward pass of a batch shape, and is the same in all that follow; that one hands
// over everything at its end.
//
// Sums meet by their order, and other processes may have batches of other shapes, which they have seen or not: the
// order is one for all passes but the first, that in which the first pass completed them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <unordered_map>
#include <vector>

#include "attend/nn/parameters.h"
#include "attend/tensor/pass.h"

namespace attend::train {

class GradientBuckets : public BackwardWatch {
 public:
  // Parameters that lie side by side share a bucket until it has so many numbers.
  static constexpr std::int64_t kNumbers = std::int64_t{1} << 20;
  explicit GradientBuckets(const nn::Parameters& parameters, std::int64_t numbers = kNumbers);

  // A window of the flat gradient, f32: complete.
  using Ready = std::function<void(const Tensor& gradients)>;
  enum class When : std::uint8_t { complete, at_end };
  // In front of a backward pass; key: of its batch shape.
  void begin(std::uint64_t key, When when, Ready ready);
  bool knows(std::uint64_t key) const { return plans_.contains(key); }
  // Behind the first pass: in which order buckets go from now on. All processes must have the same one.
  std::vector<std::int64_t>& order() { return order_; }
  // Behind it, with zeros where no gradient arrived: what was not ready before is now.
  void finish();

  std::size_t count() const { return buckets_.size(); }
  std::size_t early() const { return early_; }  // of them, those of the last pass that were ready before its end

  void gradient(const Storage* leaf) override;
  void node_done() override;

 private:
  struct Bucket {
    std::int64_t begin = 0, end = 0;
    bool sent = false;
  };
  static constexpr std::int64_t kAtEnd = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> plan_of_this_pass() const;
  void send(std::size_t bucket);

  const nn::Parameters& parameters_;
  std::vector<Bucket> buckets_;
  std::unordered_map<const Storage*, std::size_t> bucket_of_;  // by the parameter
  std::map<std::uint64_t, std::vector<std::int64_t>> plans_;   // by key: the node behind which each bucket is complete
  std::vector<std::int64_t> order_;                            // of buckets
  std::size_t next_ = 0;                                       // in that order
  When when_ = When::complete;
  std::vector<std::int64_t>* plan_ = nullptr;              // of this pass; null: it is being made
  std::unordered_map<const Storage*, std::int64_t> last_;  // the node that wrote each parameter last
  std::uint64_t key_ = 0;
  std::int64_t node_ = 0;
  std::size_t early_ = 0;
  Ready ready_;
};

}  // namespace attend::train
