#include "attend/serve/engine/translation_queue.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <limits>
#include <utility>

#include "attend/serve/engine/failure.h"

namespace attend::serve {

struct TranslationQueue::Job {
  std::vector<std::vector<std::int32_t>> sentences;  // tokens
  std::vector<std::size_t> numbers;                  // of those that are not blank
  tasks::TranslateOptions options;
  std::vector<std::vector<tasks::Translation>> results;
  std::size_t taken = 0, left = 0;
  double attained = 0;  // seconds of computing, its share of searches; the engine's
  std::atomic<bool> gone{false};
  std::exception_ptr failure;
  std::condition_variable done;  // its own: one for all would wake every client for each sentence

  void one_less() {
    if (--left == 0) done.notify_one();
  }

  bool like(const Job& other) const {
    return options.beams == other.options.beams && options.n_best == other.options.n_best &&
           options.alpha == other.options.alpha && options.attention == other.options.attention;
  }
};

namespace {
constexpr std::size_t kForNewcomers = 4;  // searches beyond the usual
}

struct TranslationQueue::Running {
  struct Place {
    std::shared_ptr<Job> job;
    std::size_t sentence;
    bool done = false;
  };
  std::vector<Place> places;
  std::unique_ptr<tasks::Translator::Search> search;
  std::size_t steps = 0;
};

TranslationQueue::TranslationQueue(Engine& engine, Metrics& metrics,
                                   std::shared_ptr<const tasks::LoadedTranslator> translator, const Options& options)
    : engine_(engine), metrics_(metrics), translator_(std::move(translator)), options_(options) {}

TranslationQueue::~TranslationQueue() = default;

std::vector<std::vector<tasks::Translation>> TranslationQueue::run(std::vector<std::vector<std::int32_t>> sentences,
                                                                   const tasks::TranslateOptions& options,
                                                                   const std::stop_token& stop) {
  const auto job = std::make_shared<Job>();
  job->options = translator_->translator.resolved(options);
  job->results.resize(sentences.size());
  for (std::size_t i = 0; i < sentences.size(); ++i)
    if (!sentences[i].empty()) {
      job->sentences.push_back(std::move(sentences[i]));
      job->numbers.push_back(i);
    }
  job->left = job->sentences.size();
  if (job->left == 0) return std::move(job->results);
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(job);
    waiting_ += job->left;
  }
  engine_.wake();
  {
    const std::stop_callback cancelling(stop, [this, &job] {
      const std::lock_guard lock(mutex_);
      job->gone = true;
      job->done.notify_one();
    });
    std::unique_lock lock(mutex_);
    job->done.wait(lock, [&] { return job->left == 0 || job->gone; });
  }
  engine_.wake();  // which drops what was not taken
  if (job->gone) throw Cancelled();
  if (job->failure) std::rethrow_exception(job->failure);
  return std::move(job->results);
}

// The oldest sentence and those that go well with it: the same kind of search, and at most twice or half as long, since
// sentences of a search are read side by side. Whatever throws, a sentence is in places, or its job has it.
void TranslationQueue::take(Running& next, std::vector<std::vector<std::int32_t>>& sentences,
                            tasks::TranslateOptions& options) {
  const std::lock_guard lock(mutex_);
  for (auto& job : jobs_)
    if (job->gone) waiting_ -= job->sentences.size() - job->taken;
  std::erase_if(jobs_, [](const std::shared_ptr<Job>& job) { return job->gone.load(); });
  if (jobs_.empty()) return;
  std::size_t under_way = 0;
  for (const auto& search : running_) under_way += search->places.size();
  const bool time = running_.empty() || running_.back()->steps >= options_.steps_between ||
                    waiting_ >= std::min(options_.sentences, std::max<std::size_t>(under_way, 1));
  if (!time) return;
  // Where searches are those of requests that have had much time, those who come meanwhile have one of their own.
  const bool full = running_.size() >= options_.searches;
  const auto is_new = [](const std::shared_ptr<Job>& job) { return job->taken == 0; };
  const auto young = std::ranges::count_if(running_, [&](const auto& search) { return level_of_search(*search) == 0; });
  const auto first = full ? std::ranges::find_if(jobs_, is_new) : jobs_.begin();
  if (first == jobs_.end() || (full && (young >= static_cast<std::ptrdiff_t>(options_.searches) ||
                                        running_.size() >= options_.searches + kForNewcomers)))
    return;
  const std::shared_ptr<Job> oldest = *first;
  options = oldest->options;
  const std::size_t length = oldest->sentences[oldest->taken].size();
  std::int64_t cost = 0;
  for (std::size_t at = 0; at < jobs_.size() && sentences.size() < options_.sentences;) {
    const std::shared_ptr<Job> job = jobs_[at];
    const std::vector<std::int32_t>& sentence = job->sentences[job->taken];
    const std::int64_t own = static_cast<std::int64_t>(sentence.size()) * options.beams;
    const bool fits =
        job->like(*oldest) && sentence.size() <= 2 * length && length <= 2 * sentence.size() && (!full || is_new(job));
    if (!sentences.empty() && cost + own > options_.budget) break;
    if (!fits) {
      ++at;
      continue;
    }
    sentences.push_back(sentence);
    next.places.push_back({job, job->taken});
    cost += own;
    --waiting_;
    const auto place = jobs_.begin() + static_cast<std::ptrdiff_t>(at);
    if (++job->taken < job->sentences.size())
      std::rotate(place, place + 1, jobs_.end());  // behind the others: one of each in turn
    else
      jobs_.erase(place);
  }
}

void TranslationQueue::admit() {
  auto next = std::make_unique<Running>();
  Running& made = *next;
  try {
    std::vector<std::vector<std::int32_t>> sentences;
    tasks::TranslateOptions options;
    take(made, sentences, options);
    if (made.places.empty()) return;
    metrics_.observe("attend_search_size", static_cast<double>(sentences.size()));
    made.search = translator_->translator.begin(
        sentences, options, [this, &made](std::size_t sentence, std::vector<tasks::Translation> translations) {
          Running::Place& place = made.places[sentence];
          place.done = true;
          finish(place.job, place.sentence, std::move(translations));
        });
    running_.push_back(std::move(next));
  } catch (...) {
    fail(made, compute_failure());
  }
}

void TranslationQueue::finish(const std::shared_ptr<Job>& job, std::size_t sentence,
                              std::vector<tasks::Translation> translations) {
  const std::lock_guard lock(mutex_);
  job->results[job->numbers[sentence]] = std::move(translations);
  job->one_less();
}

// Sentences of these requests that wait are not begun any more.
void TranslationQueue::fail(Running& search, const std::exception_ptr& failure) {
  const std::lock_guard lock(mutex_);
  for (Running::Place& place : search.places) {
    if (place.done) continue;
    Job& job = *place.job;
    job.failure = failure;
    const std::size_t untaken = job.sentences.size() - job.taken;
    job.taken += untaken, waiting_ -= untaken, job.left -= untaken;
    job.one_less();
  }
  std::erase_if(jobs_, [](const std::shared_ptr<Job>& job) { return job->taken == job->sentences.size(); });
}

int TranslationQueue::level_of_search(const Running& search) const {
  double least = kNoWork;
  for (const Running::Place& place : search.places)
    if (!place.done) least = std::min(least, place.job->attained);
  return level_of(least);
}

double TranslationQueue::attained() const {
  double least = kNoWork;
  for (const auto& search : running_)
    for (const Running::Place& place : search->places)
      if (!place.done) least = std::min(least, place.job->attained);
  const std::lock_guard lock(mutex_);
  for (const std::shared_ptr<Job>& job : jobs_) least = std::min(least, job->attained);
  return least;
}

bool TranslationQueue::step(const Turn& turn) {
  admit();
  if (running_.empty()) return false;
  int lowest = std::numeric_limits<int>::max();
  for (const auto& running : running_) lowest = std::min(lowest, level_of_search(*running));
  for (auto& running : running_) {
    if (!turn.everybody && level_of_search(*running) > lowest) continue;
    const auto begin = std::chrono::steady_clock::now();
    try {
      for (std::size_t i = 0; i < running->places.size(); ++i)
        if (running->places[i].job->gone) running->search->drop(i);
      running->search->step();
      ++running->steps;
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
      for (const Running::Place& place : running->places)
        place.job->attained += seconds.count() / static_cast<double>(running->places.size());
    } catch (...) {
      fail(*running, compute_failure());
      running->search.reset();
    }
  }
  std::erase_if(running_, [](const auto& running) { return !running->search || running->search->done(); });
  return true;
}

std::size_t TranslationQueue::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_;
}

}  // namespace attend::serve
