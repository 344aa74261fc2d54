#include "attend/train/loop/gradient_buckets.h"

#include <algorithm>
#include <utility>

#include "attend/base/error.h"

namespace attend::train {

GradientBuckets::GradientBuckets(const nn::Parameters& parameters, std::int64_t numbers) : parameters_(parameters) {
  for (const nn::Parameters::Entry& entry : parameters.entries()) {
    if (!entry.learned()) continue;
    if (buckets_.empty() || buckets_.back().end - buckets_.back().begin >= numbers)
      buckets_.push_back({.begin = buckets_.empty() ? 0 : buckets_.back().end});
    bucket_of_[entry.parameter->value.storage()] = buckets_.size() - 1;
    Bucket& bucket = buckets_.back();
    bucket.end = std::max(bucket.end, entry.offset + entry.parameter->shape.size());
  }
  // With the padding between them.
  for (std::size_t i = 0; i + 1 < buckets_.size(); ++i) buckets_[i].end = buckets_[i + 1].begin;
  if (!buckets_.empty()) buckets_.back().end = parameters.gradient().size();
}

void GradientBuckets::begin(std::uint64_t key, When when, Ready ready) {
  key_ = key, when_ = when, ready_ = std::move(ready);
  node_ = 0, early_ = 0, next_ = 0;
  last_.clear();
  const auto found = plans_.find(key);
  plan_ = found == plans_.end() ? nullptr : &found->second;
  for (Bucket& bucket : buckets_) bucket.sent = false;
}

void GradientBuckets::gradient(const Storage* leaf) {
  const auto found = bucket_of_.find(leaf);
  if (found == bucket_of_.end()) return;
  check(!buckets_[found->second].sent, "training: a gradient was written after it had been sent");
  if (!plan_) last_[leaf] = node_;
}

// One that is complete waits for those in front of it in the order.
void GradientBuckets::node_done() {
  const auto complete = [&](std::int64_t bucket) { return (*plan_)[static_cast<std::size_t>(bucket)] <= node_; };
  if (plan_ && when_ == When::complete)
    for (; next_ < order_.size() && complete(order_[next_]); ++next_)
      ++early_, send(static_cast<std::size_t>(order_[next_]));
  ++node_;
}

std::vector<std::int64_t> GradientBuckets::plan_of_this_pass() const {
  std::vector<std::int64_t> plan(buckets_.size(), 0);
  for (const auto& [leaf, bucket] : bucket_of_) {
    if (!leaf->differentiable) continue;  // frozen: zeros from the start
    const auto written = last_.find(leaf);
    plan[bucket] = std::max(plan[bucket], written != last_.end() ? written->second : kAtEnd);
  }
  return plan;
}

void GradientBuckets::finish() {
  if (!plan_) plans_[key_] = plan_of_this_pass();
  if (order_.empty()) {
    for (std::size_t i = 0; i < buckets_.size(); ++i) order_.push_back(static_cast<std::int64_t>(i));
    for (std::size_t i = 0; i < buckets_.size(); ++i) send(i);
    std::ranges::stable_sort(order_, {}, [&](std::int64_t i) { return plans_[key_][static_cast<std::size_t>(i)]; });
  } else {
    for (; next_ < order_.size(); ++next_) send(static_cast<std::size_t>(order_[next_]));
  }
  ready_ = {};
}

void GradientBuckets::send(std::size_t bucket) {
  Bucket& range = buckets_[bucket];
  range.sent = true;
  if (range.end > range.begin) ready_(parameters_.gradient().slice_first(range.begin, range.end - range.begin));
}

}  // namespace attend::train
