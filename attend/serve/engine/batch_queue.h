// Items of many requests, worked off in batches up to a budget (tokens, images). A batch takes one item of each
// request in turn: one that brings a thousand holds nobody up, and none is too large to take. Requests that have had
// much computing time are not in a batch with those that have had little, and where others wait, batches are short.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include "attend/serve/engine/engine.h"
#include "attend/serve/engine/failure.h"
#include "attend/serve/engine/metrics.h"

namespace attend::serve {

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
    // One result an item. unwanted(): all of them have been cancelled; asked between layers, it saves computing them.
    std::function<std::vector<Result>(Items, const std::function<bool()>& unwanted)> forward;
  };
  BatchQueue(Engine& engine, Metrics& metrics, Options options)
      : engine_(engine), metrics_(metrics), options_(std::move(options)) {}

  // Waits for its results. Throws what computing them ended with (failure.h), and Cancelled as soon as stop says so:
  // then no item is taken any more, and the batch that has some of them is waited for.
  std::vector<Result> run(std::span<const Item> items, const std::stop_token& stop = {}, QueueTimes* times = nullptr) {
    if (items.empty()) return {};
    const auto job = std::make_shared<Job>();
    job->items = items, job->results.resize(items.size()), job->left = items.size();
    job->begun = Clock::now();
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back(job);
      waiting_ += items.size();
    }
    engine_.wake();
    {
      const std::stop_callback cancelling(stop, [this, &job] { cancel(job); });
      std::unique_lock lock(mutex_);
      job->done.wait(lock, [&] { return job->left == 0; });
    }
    if (times) times->queue += job->queue, times->compute += seconds_since(job->begun) - job->queue;
    if (job->failure) std::rethrow_exception(job->failure);
    return std::move(job->results);
  }

  double attained() const override {
    const std::lock_guard lock(mutex_);
    double least = kNoWork;
    for (const std::shared_ptr<Job>& job : jobs_) least = std::min(least, job->attained);
    return least;
  }

  bool step(const Turn& turn) override {
    std::vector<Place> places;
    std::vector<const Item*> items;
    std::vector<Result> results;
    std::exception_ptr failure;
    const Clock::time_point begin = Clock::now();
    std::int64_t cost = 0;
    try {
      cost = take(turn, places, items);
      if (items.empty()) return false;
      metrics_.observe("te_batch_next_size", static_cast<double>(items.size()));
      metrics_.observe("te_batch_next_tokens", static_cast<double>(cost));
      results = options_.forward(items, [&] {
        return std::ranges::all_of(places, [](const Place& place) { return place.job->cancelled.load(); });
      });
    } catch (...) {
      failure = compute_failure();
    }
    const double seconds = seconds_since(begin);
    if (seconds > 0) per_second_ = static_cast<double>(cost) / seconds;
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto& [job, index] = places[i];
      job->attained += seconds / static_cast<double>(places.size());
      if (failure)
        drop_rest(job, failure);
      else
        job->results[index] = std::move(results[i]);
      finish(*job, 1);
    }
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
    std::size_t taken = 0, left = 0;  // left: those without a result
    Clock::time_point begun;
    double queue = 0;
    double attained = 0;  // seconds of computing, its share of batches
    std::exception_ptr failure;
    std::atomic<bool> cancelled{false};
    std::condition_variable done;  // its own: one for all would wake every client for each batch
  };
  struct Place {
    std::shared_ptr<Job> job;
    std::size_t index;
  };

  std::int64_t next_cost(const Job& job) const { return options_.cost(job.items[job.taken]); }

  // Locked. Who may be in the next batch: the least-served requests, and of those items of about one length, the
  // shortest first, where somebody waits for its end.
  struct Choice {
    int level;             // of requests; -1: any
    std::int64_t longest;  // cost of an item
    std::int64_t budget;
  };
  Choice choose(const Turn& turn) const {
    Choice choice = {-1, std::numeric_limits<std::int64_t>::max(), options_.budget};
    if (turn.everybody || jobs_.empty()) return choice;
    int highest = 0;
    for (const std::shared_ptr<Job>& job : jobs_) {
      const int level = level_of(job->attained);
      choice.level = choice.level < 0 ? level : std::min(choice.level, level);
      highest = std::max(highest, level);
    }
    if (!turn.contended && highest == choice.level) return choice;
    std::int64_t shortest = choice.longest;
    for (const std::shared_ptr<Job>& job : jobs_)
      if (level_of(job->attained) == choice.level) shortest = std::min(shortest, next_cost(*job));
    choice.longest = kSimilar * std::max<std::int64_t>(shortest, kShortItem);
    choice.budget =
        std::clamp(static_cast<std::int64_t>(per_second_ * kPieceSeconds), (options_.budget + 7) / 8, options_.budget);
    return choice;
  }

  // A batch, and its cost. Whatever throws, an item is in places, or it is as it was.
  std::int64_t take(const Turn& turn, std::vector<Place>& places, std::vector<const Item*>& items) {
    std::int64_t cost = 0;
    const std::lock_guard lock(mutex_);
    const Choice choice = choose(turn);
    for (std::size_t at = 0; at < jobs_.size();) {
      const std::shared_ptr<Job> job = jobs_[at];
      const Item& item = job->items[job->taken];
      const std::int64_t own = next_cost(*job);
      if ((choice.level >= 0 && level_of(job->attained) != choice.level) || own > choice.longest) {
        ++at;
        continue;
      }
      if (!items.empty() && cost + own > choice.budget) break;
      jobs_.erase(jobs_.begin() + static_cast<std::ptrdiff_t>(at));
      if (job->taken + 1 < job->items.size()) jobs_.push_back(job);  // behind the others
      if (job->taken == 0) job->queue = seconds_since(job->begun);
      const std::size_t index = job->taken++;
      --waiting_;
      try {
        items.push_back(&item);
        places.push_back({job, index});
      } catch (...) {
        drop_rest(job, std::current_exception());
        finish(*job, 1);
        throw;
      }
      cost += own;
    }
    return cost;
  }
  // Locked.
  void finish(Job& job, std::size_t items) {
    job.left -= items;
    if (job.left == 0) job.done.notify_one();
  }
  // Locked. Items that no batch has taken are not computed any more.
  void drop_rest(const std::shared_ptr<Job>& job, const std::exception_ptr& failure) {
    job->failure = failure;
    const std::size_t untaken = job->items.size() - job->taken;
    if (untaken == 0) return;
    std::erase(jobs_, job);
    job->taken += untaken, waiting_ -= untaken;
    finish(*job, untaken);
  }
  void cancel(const std::shared_ptr<Job>& job) {
    const std::lock_guard lock(mutex_);
    job->cancelled = true;
    if (job->left > 0) drop_rest(job, std::make_exception_ptr(Cancelled()));
  }

  static constexpr double kPieceSeconds = 0.004;                // of a batch that others wait for
  static constexpr std::int64_t kSimilar = 4, kShortItem = 16;  // of costs

  Engine& engine_;
  Metrics& metrics_;
  Options options_;
  double per_second_ = 0;  // cost, of the last batch
  mutable std::mutex mutex_;
  std::deque<std::shared_ptr<Job>> jobs_;  // those with items that are not taken
  std::size_t waiting_ = 0;
};

}  // namespace attend::serve
