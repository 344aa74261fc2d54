#include "attend/serving/translation_queue.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <utility>

namespace attend::serving {

struct TranslationQueue::Job {
  std::vector<std::vector<std::int32_t>> sentences;  // tokens
  std::vector<std::size_t> numbers;                  // of those that are not blank
  tasks::TranslateOptions options;
  std::vector<std::vector<tasks::Translation>> results;
  std::size_t taken = 0, left = 0;
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

std::vector<std::vector<tasks::Translation>> TranslationQueue::run(const std::vector<std::string>& sentences,
                                                                   const tasks::TranslateOptions& options,
                                                                   const std::function<bool()>& gone) {
  const auto job = std::make_shared<Job>();
  job->options = translator_->translator.resolved(options);
  job->results.resize(sentences.size());
  for (std::size_t i = 0; i < sentences.size(); ++i)
    if (auto tokens = translator_->translator.tokens_of(sentences[i])) {
      job->sentences.push_back(std::move(*tokens));
      job->numbers.push_back(i);
    }
  job->left = job->sentences.size();
  if (job->left == 0) return std::move(job->results);
  std::unique_lock lock(mutex_);
  jobs_.push_back(job);
  waiting_ += job->left;
  lock.unlock();
  engine_.wake();
  lock.lock();
  while (!job->done.wait_for(lock, std::chrono::milliseconds(200), [&] { return job->left == 0; }))
    if (gone && gone()) {
      job->gone = true;
      return {};
    }
  if (job->failure) std::rethrow_exception(job->failure);
  return std::move(job->results);
}

// The oldest sentence and those that go well with it: the same kind of search, and at most twice or half as long, since
// sentences of a search are read side by side.
void TranslationQueue::admit() {
  auto next = std::make_unique<Running>();
  std::vector<std::vector<std::int32_t>> sentences;
  tasks::TranslateOptions options;
  {
    const std::lock_guard lock(mutex_);
    for (auto& job : jobs_)
      if (job->gone) waiting_ -= job->sentences.size() - job->taken;
    std::erase_if(jobs_, [](const std::shared_ptr<Job>& job) { return job->gone.load(); });
    if (jobs_.empty()) return;
    std::size_t under_way = 0;
    for (const auto& search : running_) under_way += search->places.size();
    const bool time = running_.empty() || running_.back()->steps >= options_.steps_between ||
                      waiting_ >= std::min(options_.sentences, std::max<std::size_t>(under_way, 1));
    if (running_.size() >= options_.searches || !time) return;
    const std::shared_ptr<Job> oldest = jobs_.front();
    options = oldest->options;
    const std::size_t length = oldest->sentences[oldest->taken].size();
    std::int64_t cost = 0;
    std::deque<std::shared_ptr<Job>> unfit;
    while (!jobs_.empty() && sentences.size() < options_.sentences) {
      const std::shared_ptr<Job> job = jobs_.front();
      const std::vector<std::int32_t>& sentence = job->sentences[job->taken];
      const std::int64_t own = static_cast<std::int64_t>(sentence.size()) * options.beams;
      const bool fits = job->like(*oldest) && sentence.size() <= 2 * length && length <= 2 * sentence.size();
      if (!sentences.empty() && cost + own > options_.budget) break;
      jobs_.pop_front();
      if (!fits) {
        unfit.push_back(job);
        continue;
      }
      cost += own;
      next->places.push_back({job, job->taken});
      sentences.push_back(sentence);
      if (++job->taken < job->sentences.size()) jobs_.push_back(job);  // behind the others: one of each in turn
    }
    jobs_.insert(jobs_.begin(), unfit.begin(), unfit.end());
    waiting_ -= sentences.size();
  }
  Running& made = *next;
  running_.push_back(std::move(next));
  metrics_.observe("attend_search_size", static_cast<double>(sentences.size()));
  try {
    made.search = translator_->translator.begin(
        sentences, options, [this, &made](std::size_t sentence, std::vector<tasks::Translation> translations) {
          Running::Place& place = made.places[sentence];
          place.done = true;
          finish(place.job, place.sentence, std::move(translations));
        });
  } catch (...) {
    fail(made, std::current_exception());
    running_.pop_back();
  }
}

void TranslationQueue::finish(const std::shared_ptr<Job>& job, std::size_t sentence,
                              std::vector<tasks::Translation> translations) {
  const std::lock_guard lock(mutex_);
  job->results[job->numbers[sentence]] = std::move(translations);
  job->one_less();
}

void TranslationQueue::fail(Running& search, const std::exception_ptr& failure) {
  const std::lock_guard lock(mutex_);
  for (Running::Place& place : search.places)
    if (!place.done) {
      place.job->failure = failure;
      place.job->one_less();
    }
}

bool TranslationQueue::step() {
  admit();
  if (running_.empty()) return false;
  for (auto& running : running_) {
    try {
      for (std::size_t i = 0; i < running->places.size(); ++i)
        if (running->places[i].job->gone) running->search->drop(i);
      running->search->step();
      ++running->steps;
    } catch (...) {
      fail(*running, std::current_exception());
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

}  // namespace attend::serving
