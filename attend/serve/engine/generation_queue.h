// Texts that a language model goes on with, for many clients at once: continuous batching, where a text enters when a
// row is free, gets a token a step, and leaves at its end or when its client has gone.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "attend/decode/sample.h"
#include "attend/decode/text_rows.h"
#include "attend/nn/batch_model.h"
#include "attend/serve/engine/engine.h"
#include "attend/serve/engine/metrics.h"
#include "attend/tasks/generator.h"

namespace attend::serve {

struct GenerationRequest {
  std::string prompt = {};
  std::int64_t max_tokens = 16;
  float temperature = 1;  // 0: the likeliest
  std::int64_t top_k = 0;
  float top_p = 1, min_p = 0, repetition_penalty = 1;
  std::uint64_t seed = 1;
  std::int64_t samples = 1;
  std::vector<std::string> stops = {};
  std::int64_t logprobs = -1;  // how many of the likeliest tokens of each step to keep; -1: not even the token's own
};

struct TokenScore {
  std::string token;
  double log_probability = 0;
  std::vector<std::pair<std::string, double>> likeliest = {};
};

// One of the samples of a request.
struct GeneratedText {
  std::string text;
  std::int64_t tokens = 0;
  bool finished = false;  // by the model or a stop string; else it was cut at max_tokens
  float score = 0;
  std::vector<TokenScore> scores = {};
};

class GenerationQueue : public Hosted {
 public:
  struct Listener {
    // A piece of a sample's text, as soon as it is there, with the scores of its tokens; by the engine's thread.
    std::function<void(std::size_t sample, const std::string& piece, const std::vector<TokenScore>& scores)> on_text =
        {};
    // All samples are at their end, in their order; or what it ended with instead (failure.h). One of the two, once,
    // unless it was stopped.
    std::function<void(std::vector<GeneratedText> texts, std::int64_t prompt_tokens)> on_done = {};
    std::function<void(const std::exception_ptr& failure)> on_failure = {};
    // Asked at every step.
    std::stop_token stop = {};
    // Those of one client take turns with those of others, and leave them a row: whoever asks for a thousand texts gets
    // rows as often as who asks for one. Null: it is alone.
    const void* client = nullptr;
  };
  struct Options {
    std::int64_t rows = 16;
    std::int64_t tokens_at_once = 512;  // of prompts, before those who are under way get their next token
    // On a GPU, where reading one prompt costs what reading many does, and about what a step of all rows does: so many
    // are read together, unless one has waited so many steps; and more tokens at once.
    std::int64_t together = 4, patience = 4, device_tokens_at_once = 2048;
    // Longer prompts are read in pieces of so many tokens, a piece between two steps of others; and so many of them are
    // kept for prompts that begin in the same way. None: prompts are read at once.
    std::int64_t piece = 64, device_piece = 256, kept_prompts = 4;
  };

  GenerationQueue(Engine& engine, Metrics& metrics, std::shared_ptr<const tasks::Generator> generator,
                  const Options& options);
  ~GenerationQueue() override;

  // Throws Error where the request makes no sense. Returns at once.
  void start(const GenerationRequest& request, Listener listener);
  // The same for several at once, and waits for all of them. Throws what one ended with, and Cancelled when it is
  // stopped.
  struct Answer {
    std::vector<GeneratedText> texts;
    std::int64_t prompt_tokens = 0;
  };
  std::vector<Answer> run(std::span<const GenerationRequest> requests, const std::stop_token& stop);

  double attained() const override;
  bool step(const Turn& turn) override;
  std::size_t waiting() const;
  const tasks::Generator& generator() const { return *generator_; }

 private:
  struct Job;
  struct Line {  // texts of a client that are not in the rows yet
    const void* client = nullptr;
    std::shared_ptr<std::size_t> admitted = std::make_shared<std::size_t>(0);  // those that are
    std::deque<std::pair<std::shared_ptr<Job>, std::shared_ptr<decode::RowText>>> samples = {};
  };
  void admit();
  std::shared_ptr<Job> prepare(const GenerationRequest& request, Listener listener);
  void make_batch();
  void warm_up();
  void count_step(std::size_t written);
  void fail_all(const std::exception_ptr& failure) noexcept;

  Engine& engine_;
  Metrics& metrics_;
  std::shared_ptr<const tasks::Generator> generator_;
  Options options_;
  std::int64_t vocabulary_ = 0, allowed_ = 0;  // tokens; those that are not suppressed
  std::vector<std::int32_t> suppressed_;
  std::unique_ptr<nn::BatchModel> batch_;
  std::unique_ptr<decode::TextRows> rows_;
  decode::TextRows::Times counted_;  // of rows_, and already in the metrics
  decode::TextRows::Reading counted_reading_;
  std::vector<std::weak_ptr<Job>> running_;
  mutable std::mutex mutex_;
  std::deque<std::shared_ptr<Job>> arrived_;
  std::deque<Line> lines_;  // the next one's turn first
  std::size_t in_lines_ = 0;
  std::atomic<std::size_t> waiting_{0};
};

}  // namespace attend::serve
