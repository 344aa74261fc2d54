// Items of many requests, worked off in batches up to a budget (tokens, pictures). A batch takes one item of each
// request in turn, oldest request first: one that brings a thousand holds nobody up, and none is too large to take.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "attend/serving/engine.h"
#include "attend/serving/metrics.h"

namespace attend::serving {

// Where the time of a request went, in seconds: until its first item was taken, and from then on.
struct QueueTimes {
  double queue = 0, compute = 0;
};

template <class Item, class Result>
class BatchQueue : public Hosted {
 public:
  using Items = std::span<const Item* const>;
  struct Options {
    std::int64_t budget = 4096;  // of a batch; a single item may cost more
    std::function<std::int64_t(const Item&)> cost;
    std::function<std::vector<Result>(Items)> forward;  // one result an item
  };
  BatchQueue(Engine& engine, Metrics& metrics, Options options)
      : engine_(engine), metrics_(metrics), options_(std::move(options)) {}

  // Waits for its results. Throws what forward() threw.
  std::vector<Result> run(std::span<const Item> items, QueueTimes* times = nullptr) {
    if (items.empty()) return {};
    const auto job = std::make_shared<Job>();
    job->items = items, job->results.resize(items.size()), job->left = items.size();
    job->begun = Clock::now();
    std::unique_lock lock(mutex_);
    jobs_.push_back(job);
    waiting_ += items.size();
    lock.unlock();
    engine_.wake();
    lock.lock();
    done_.wait(lock, [&] { return job->left == 0; });
    if (times) times->queue = job->queue, times->compute = seconds_since(job->begun) - job->queue;
    if (job->failure) std::rethrow_exception(job->failure);
    return std::move(job->results);
  }

  bool step() override {
    std::vector<Place> places;
    std::vector<const Item*> items;
    std::int64_t cost = 0;
    {
      const std::lock_guard lock(mutex_);
      while (!jobs_.empty()) {
        const std::shared_ptr<Job> job = jobs_.front();
        const Item& item = job->items[job->taken];
        const std::int64_t own = options_.cost(item);
        if (!items.empty() && cost + own > options_.budget) break;
        if (job->taken == 0) job->queue = seconds_since(job->begun);
        places.push_back({job, job->taken++});
        items.push_back(&item);
        cost += own;
        jobs_.pop_front();
        if (job->taken < job->items.size()) jobs_.push_back(job);
      }
      waiting_ -= items.size();
    }
    if (items.empty()) return false;
    metrics_.observe("te_batch_next_size", static_cast<double>(items.size()));
    metrics_.observe("te_batch_next_tokens", static_cast<double>(cost));
    std::vector<Result> results;
    std::exception_ptr failure;
    try {
      results = options_.forward(items);
    } catch (...) {
      failure = std::current_exception();
    }
    {
      const std::lock_guard lock(mutex_);
      for (std::size_t i = 0; i < places.size(); ++i) {
        const auto& [job, index] = places[i];
        if (failure)
          job->failure = failure;
        else
          job->results[index] = std::move(results[i]);
        --job->left;
      }
    }
    done_.notify_all();
    return true;
  }

  std::size_t waiting() const {
    const std::lock_guard lock(mutex_);
    return waiting_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }
  struct Job {
    std::span<const Item> items;
    std::vector<Result> results;
    std::size_t taken = 0, left = 0;
    Clock::time_point begun;
    double queue = 0;
    std::exception_ptr failure;
  };
  struct Place {
    std::shared_ptr<Job> job;
    std::size_t index;
  };

  Engine& engine_;
  Metrics& metrics_;
  Options options_;
  mutable std::mutex mutex_;
  std::condition_variable done_;
  std::deque<std::shared_ptr<Job>> jobs_;  // those with items that are not taken
  std::size_t waiting_ = 0;
};

}  // namespace attend::serving
