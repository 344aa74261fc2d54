#include "attend/train/gradient_buckets.h"

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

void GradientBuckets::begin(std::uint64_t key, Ready ready) {
  key_ = key, ready_ = std::move(ready);
  node_ = 0, early_ = 0;
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

void GradientBuckets::node_done() {
  if (plan_)
    for (std::size_t i = 0; i < buckets_.size(); ++i)
      if ((*plan_)[i] == node_) ++early_, send(i);
  ++node_;
}

void GradientBuckets::finish() {
  if (!plan_) {
    std::vector<std::int64_t> plan(buckets_.size(), 0);
    for (const auto& [leaf, bucket] : bucket_of_) {
      if (!leaf->differentiable) continue;  // frozen: zeros from the start
      const auto written = last_.find(leaf);
      const bool reached = written != last_.end() && plan[bucket] != kAtEnd;
      plan[bucket] = reached ? std::max(plan[bucket], written->second) : kAtEnd;
    }
    plans_[key_] = std::move(plan);
  }
  for (std::size_t i = 0; i < buckets_.size(); ++i)
    if (!buckets_[i].sent) send(i);
  ready_ = {};
}

void GradientBuckets::send(std::size_t bucket) {
  Bucket& range = buckets_[bucket];
  range.sent = true;
  if (range.end > range.begin) ready_(parameters_.gradient().slice_first(range.begin, range.end - range.begin));
}

}  // namespace attend::train
