// Sentences of many clients, translated by beam searches that are taken a step at a time. New sentences begin a search
// of their own while others run, so nobody waits for a long sentence; one that is done is handed over at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "attend/serve/engine/engine.h"
#include "attend/serve/engine/metrics.h"
#include "attend/tasks/translator.h"

namespace attend::serve {

class TranslationQueue : public Hosted {
 public:
  struct Options {
    std::int64_t budget = 2048;     // source tokens times beams of a search
    std::size_t sentences = 32;     // of a search
    std::size_t searches = 2;       // under way at once: steps of fewer rows cost more a row
    std::size_t steps_between = 8;  // so many tokens further, a new search begins even for few sentences
  };
  TranslationQueue(Engine& engine, Metrics& metrics, std::shared_ptr<const tasks::LoadedTranslator> translator,
                   const Options& options);
  ~TranslationQueue() override;

  // One list a sentence, best first; none for one without tokens. Waits. Throws what computing them ended with
  // (failure.h), and Cancelled as soon as it is stopped.
  std::vector<std::vector<tasks::Translation>> run(std::vector<std::vector<std::int32_t>> sentences,
                                                   const tasks::TranslateOptions& options,
                                                   const std::stop_token& stop = {});
  double attained() const override;
  bool step(const Turn& turn) override;
  std::size_t waiting() const;
  const tasks::LoadedTranslator& translator() const { return *translator_; }

 private:
  struct Job;
  struct Running;
  int level_of_search(const Running& search) const;
  void take(Running& next, std::vector<std::vector<std::int32_t>>& sentences, tasks::TranslateOptions& options);
  void admit();
  void finish(const std::shared_ptr<Job>& job, std::size_t sentence, std::vector<tasks::Translation> translations);
  void fail(Running& search, const std::exception_ptr& failure);

  Engine& engine_;
  Metrics& metrics_;
  std::shared_ptr<const tasks::LoadedTranslator> translator_;
  Options options_;
  mutable std::mutex mutex_;
  std::deque<std::shared_ptr<Job>> jobs_;  // those with sentences that wait
  std::size_t waiting_ = 0;
  std::vector<std::unique_ptr<Running>> running_;  // the engine's
};

}  // namespace attend::serve
