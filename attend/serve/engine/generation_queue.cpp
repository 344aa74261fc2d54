#include "attend/serve/engine/generation_queue.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <span>
#include <string_view>
#include <utility>

#include "attend/base/error.h"
#include "attend/serve/engine/failure.h"
#include "attend/tasks/growing_text.h"
#include "attend/tensor/backend.h"

namespace attend::serve {

namespace {
using Clock = std::chrono::steady_clock;

std::string token_text(const text::Tokenizer& tokenizer, std::int32_t id) {
  const text::TokenId ids[] = {id};
  return tokenizer.decode(ids, {.skip_special_tokens = false});
}
}  // namespace

// A request under way. Rows refer to it, and it is gone with the last of them.
struct GenerationQueue::Job {
  GenerationRequest request;
  Listener listener;
  decode::SampleOptions draw;
  std::unique_ptr<decode::Sampler> drawer;
  struct Sample {
    std::shared_ptr<decode::RowText> text;  // until it stands in line, which has it then: it refers to the job
    decode::Hypothesis hypothesis;
    std::unique_ptr<tasks::GrowingText> growing;
    std::vector<TokenScore> scores;  // all of them, or those of a stream that were not handed on
    std::vector<TokenScore> unsent;
  };
  std::vector<Sample> samples;
  std::size_t left = 0;
  std::int64_t prompt_tokens = 0;
  double attained = 0;  // seconds of computing, its share of steps; the engine's
  Clock::time_point begun = Clock::now();
  bool first = true, told = false;
};

GenerationQueue::GenerationQueue(Engine& engine, Metrics& metrics, std::shared_ptr<const tasks::Generator> generator,
                                 const Options& options)
    : engine_(engine), metrics_(metrics), generator_(std::move(generator)), options_(options) {
  suppressed_ = generator_->meaningless();
  make_batch();
  vocabulary_ = batch_->vocabulary();
  allowed_ = vocabulary_ - static_cast<std::int64_t>(suppressed_.size());
}

GenerationQueue::~GenerationQueue() {
  for (const std::shared_ptr<Job>& job : arrived_)
    for (Job::Sample& sample : job->samples) sample.text.reset();  // which refers to the job
}

void GenerationQueue::make_batch() {
  rows_.reset();
  const std::int64_t room = generator_->model().facts().max_length;
  const bool on_host = generator_->backend().on_host();
  batch_ = generator_->model().batch(generator_->backend(), options_.rows, room,
                                     {on_host ? options_.piece : options_.device_piece, options_.kept_prompts});
  batch_->suppress(suppressed_);
  decode::TextRows::Options options{.tokens_at_once = static_cast<std::size_t>(options_.tokens_at_once)};
  if (!on_host) {
    warm_up();
    options = {.together = static_cast<std::size_t>(options_.together),
               .tokens_at_once = static_cast<std::size_t>(options_.device_tokens_at_once),
               .patience = static_cast<std::size_t>(options_.patience)};
  }
  rows_ = std::make_unique<decode::TextRows>(*batch_, options);
  counted_ = {}, counted_reading_ = {};
}

// On a GPU the first steps of all load kernels, look for the fastest products, and are captured. Steps are always the
// same, so this is worth its time before anybody waits; prompts have ever new sizes, of which nothing is looked for.
void GenerationQueue::warm_up() {
  constexpr std::int64_t kPrompt = 8;
  constexpr int kSteps = 6;
  const auto rows = static_cast<std::size_t>(batch_->rows());
  const std::int64_t room = generator_->model().facts().max_length;
  if (room < kPrompt + 2 * kSteps) return;
  const std::vector<std::int32_t> prompt(static_cast<std::size_t>(kPrompt), 0);
  std::vector<nn::BatchModel::Prompt> prompts;
  for (std::size_t row = 0; row < rows; ++row) prompts.push_back({static_cast<std::int64_t>(row), prompt});
  generator_->backend().set_tuning(false);
  for (std::size_t count = rows; count > 0; count /= 4) batch_->enter(std::span(prompts).first(count), 1);
  generator_->backend().set_tuning(true);
  std::vector<std::int32_t> tokens(rows, 0);
  std::vector<SamplingParams> draws(rows);
  for (int i = 0; i < 2 * kSteps; ++i) {  // greedy, and then drawn
    const bool greedy = i < kSteps;
    const auto scores =
        batch_->step({.tokens = tokens, .wanted = greedy ? nn::StepModel::Wanted(1) : nn::StepModel::Wanted(0, draws)});
    const std::span<const std::int32_t> next = greedy ? scores.ids : scores.drawn;
    for (std::size_t row = 0; row < rows; ++row) {
      if (!batch_->missed(static_cast<std::int64_t>(row))) tokens[row] = next[row];
      if (!greedy) ++draws[row].position;
    }
  }
  generator_->backend().set_tuning(false);
  for (std::size_t row = 0; row < rows; ++row) batch_->leave(static_cast<std::int64_t>(row));
}

std::shared_ptr<GenerationQueue::Job> GenerationQueue::prepare(const GenerationRequest& request, Listener listener) {
  check(request.max_tokens >= 1, "generate: max_tokens must be at least 1, not {}", request.max_tokens);
  check(request.samples >= 1 && request.samples <= 128, "generate: 1 to 128 samples, not {}", request.samples);
  check(request.logprobs <= 20, "generate: at most 20 logprobs, not {}", request.logprobs);
  const models::LanguageModel::Facts config = generator_->model().facts();
  const std::vector<std::int32_t> prompt = generator_->read_prompt(request.prompt);
  const auto job = std::make_shared<Job>();
  job->request = request, job->listener = std::move(listener);
  job->draw = decode::greedy_at_zero({.temperature = request.temperature,
                                      .top_k = request.top_k,
                                      .top_p = request.top_p,
                                      .min_p = request.min_p,
                                      .repetition_penalty = request.repetition_penalty,
                                      .end = static_cast<std::int32_t>(config.end),
                                      .suppressed = suppressed_});
  decode::check_draws(job->draw);
  job->drawer = std::make_unique<decode::Sampler>(job->draw, vocabulary_, allowed_);
  job->samples.resize(static_cast<std::size_t>(request.samples));
  job->left = job->samples.size();
  job->prompt_tokens = static_cast<std::int64_t>(prompt.size());
  for (std::size_t i = 0; i < job->samples.size(); ++i) {
    Job::Sample& sample = job->samples[i];
    sample.growing = std::make_unique<tasks::GrowingText>(generator_->tokenizer(), job->request.stops);
    sample.text = std::make_shared<decode::RowText>();
    decode::RowText& text = *sample.text;
    text.prompt = prompt;
    text.max_length = std::min(request.max_tokens, config.max_length - static_cast<std::int64_t>(prompt.size()));
    text.seed = request.seed, text.sample = static_cast<std::uint32_t>(i);
    text.options = &job->draw, text.drawer = job->drawer.get();
    text.likeliest = std::max<std::int64_t>(request.logprobs, 0);
  }
  return job;
}

void GenerationQueue::start(const GenerationRequest& request, Listener listener) {
  const std::shared_ptr<Job> job = prepare(request, std::move(listener));
  for (std::size_t i = 0; i < job->samples.size(); ++i) {
    decode::RowText& text = *job->samples[i].text;
    text.on_token = [this, job, i](const decode::RowText& one, const decode::RowText::Step& step) {
      if (std::exchange(job->first, false))
        metrics_.observe("attend_time_to_first_token",
                         std::chrono::duration<double>(Clock::now() - job->begun).count());
      Job::Sample& sample = job->samples[i];
      if (job->request.logprobs >= 0) {
        TokenScore score{token_text(generator_->tokenizer(), step.token), step.log_probability};
        const nn::StepModel::Scores& scores = step.scores;
        const auto count = static_cast<std::size_t>(job->request.logprobs);
        if (scores.ids.empty()) {
          std::vector<std::int32_t> order(scores.logits.size());
          for (std::size_t k = 0; k < order.size(); ++k) order[k] = static_cast<std::int32_t>(k);
          const auto middle = order.begin() + static_cast<std::ptrdiff_t>(std::min(count, order.size()));
          std::partial_sort(order.begin(), middle, order.end(), [&](std::int32_t a, std::int32_t b) {
            const float x = scores.logits[static_cast<std::size_t>(a)], y = scores.logits[static_cast<std::size_t>(b)];
            return x != y ? x > y : a < b;
          });
          for (auto id = order.begin(); id != middle; ++id)
            score.likeliest.emplace_back(token_text(generator_->tokenizer(), *id),
                                         static_cast<double>(scores.logits[static_cast<std::size_t>(*id)]) -
                                             static_cast<double>(scores.log_sums[0]));
        } else {
          for (std::size_t k = 0; k < std::min(count, scores.ids.size()); ++k)
            score.likeliest.emplace_back(
                token_text(generator_->tokenizer(), scores.ids[k]),
                static_cast<double>(scores.logits[k]) - static_cast<double>(scores.log_sums[0]));
        }
        sample.scores.push_back(score);
        if (job->listener.on_text) sample.unsent.push_back(std::move(score));
      }
      const bool stopped = sample.growing->add(one.writing.hypothesis.tokens);
      if (job->listener.on_text)
        if (const std::string piece = sample.growing->take(); !piece.empty()) {
          job->listener.on_text(i, piece, sample.unsent);
          sample.unsent.clear();
        }
      return stopped;
    };
    text.on_done = [job, i](const decode::RowText& one) {
      Job::Sample& done = job->samples[i];
      done.hypothesis = one.writing.hypothesis;
      if (job->listener.on_text)
        if (const std::string rest = done.growing->take_rest(); !rest.empty() || !done.unsent.empty())
          job->listener.on_text(i, rest, done.unsent);
      if (--job->left > 0) return;
      std::vector<GeneratedText> texts;
      for (Job::Sample& sample : job->samples) {
        const decode::Hypothesis& hypothesis = sample.hypothesis;
        texts.push_back({sample.growing->text(), static_cast<std::int64_t>(hypothesis.tokens.size()),
                         hypothesis.finished, hypothesis.score, std::move(sample.scores)});
      }
      if (!std::exchange(job->told, true) && job->listener.on_done)
        job->listener.on_done(std::move(texts), job->prompt_tokens);
    };
    if (job->listener.stop.stop_possible())
      text.dropped = [stop = job->listener.stop] { return stop.stop_requested(); };
  }
  waiting_ += job->samples.size();
  {
    const std::lock_guard lock(mutex_);
    arrived_.push_back(job);
  }
  engine_.wake();
}

std::vector<GenerationQueue::Answer> GenerationQueue::run(std::span<const GenerationRequest> requests,
                                                          const std::stop_token& stop) {
  // Whoever is stopped is not waited for: the engine drops it at its next step, and has this until then.
  struct Waiting {
    std::mutex mutex;
    std::condition_variable done;
    std::vector<Answer> answers;
    std::size_t left = 0;
    std::exception_ptr failure;
  };
  const auto waiting = std::make_shared<Waiting>();
  waiting->answers.resize(requests.size()), waiting->left = requests.size();
  // One that fails ends the others.
  std::stop_source ends;
  const std::stop_callback ending(stop, [&] { ends.request_stop(); });
  const auto end = [](Waiting& all, const auto& change) {
    const std::lock_guard lock(all.mutex);
    change();
    all.done.notify_one();
  };
  try {
    for (std::size_t i = 0; i < requests.size(); ++i)
      start(requests[i], {.on_done =
                              [waiting, end, i](std::vector<GeneratedText> texts, std::int64_t prompt) {
                                end(*waiting, [&] {
                                  waiting->answers[i] = {std::move(texts), prompt};
                                  --waiting->left;
                                });
                              },
                          .on_failure =
                              [waiting, end](const std::exception_ptr& failure) {
                                end(*waiting, [&] { waiting->failure = failure; });
                              },
                          .stop = ends.get_token(),
                          .client = waiting.get()});
  } catch (...) {
    ends.request_stop();
    throw;
  }
  const std::stop_callback stopping(
      stop, [&] { end(*waiting, [&] { waiting->failure = std::make_exception_ptr(Cancelled()); }); });
  std::unique_lock lock(waiting->mutex);
  waiting->done.wait(lock, [&] { return waiting->left == 0 || waiting->failure; });
  std::exception_ptr failure = waiting->failure;
  std::vector<Answer> answers = std::move(waiting->answers);
  lock.unlock();  // before what calls back
  if (!failure) return answers;
  ends.request_stop();
  std::rethrow_exception(failure);
}

// A few wait for a row; the others stand in line, and a text of each client enters in turn.
void GenerationQueue::admit() {
  {
    const std::lock_guard lock(mutex_);
    for (; !arrived_.empty(); arrived_.pop_front()) {
      const std::shared_ptr<Job>& job = arrived_.front();
      running_.push_back(job);
      const void* const client = job->listener.client ? job->listener.client : job.get();
      auto line = std::ranges::find(lines_, client, &Line::client);
      if (line == lines_.end()) line = lines_.insert(line, Line{client});
      for (Job::Sample& sample : job->samples) line->samples.emplace_back(job, std::move(sample.text)), ++in_lines_;
    }
  }
  std::erase_if(running_, [](const std::weak_ptr<Job>& job) { return job.expired(); });
  std::erase_if(lines_, [&](const Line& line) {  // a client stops all it has asked for
    if (!line.samples.front().first->listener.stop.stop_requested()) return false;
    in_lines_ -= line.samples.size();
    return true;
  });
  const auto rows = static_cast<std::size_t>(options_.rows), together = static_cast<std::size_t>(options_.together);
  const std::size_t most = std::max<std::size_t>(rows, 2) - 1;
  while (rows_->waiting() < std::max(rows - rows_->busy(), together)) {
    const auto line = std::ranges::find_if(lines_, [&](const Line& one) { return *one.admitted < most; });
    if (line == lines_.end()) break;
    std::shared_ptr<decode::RowText> text = std::move(line->samples.front().second);
    const std::shared_ptr<void> leaving(nullptr, [admitted = line->admitted](void*) { --*admitted; });
    text->on_done = [leaving, then = std::move(text->on_done)](const decode::RowText& one) { then(one); };
    ++*line->admitted;
    rows_->add(std::move(text));
    line->samples.pop_front();
    --in_lines_;
    if (line->samples.empty())
      lines_.erase(line);
    else
      std::rotate(line, line + 1, lines_.end());
  }
}

double GenerationQueue::attained() const {
  {
    const std::lock_guard lock(mutex_);
    if (!arrived_.empty()) return 0;
  }
  if (lines_.empty() && (!rows_ || rows_->idle())) return kNoWork;
  double least = kNoWork;
  for (const std::weak_ptr<Job>& weak : running_)
    if (const std::shared_ptr<Job> job = weak.lock()) least = std::min(least, job->attained);
  return least == kNoWork ? 0 : least;
}

// All rows take a step together: one text more costs next to nothing.
bool GenerationQueue::step(const Turn&) {
  const Clock::time_point begin = Clock::now();
  try {
    {
      const std::lock_guard lock(mutex_);
      if (arrived_.empty() && lines_.empty() && (!rows_ || rows_->idle())) {
        waiting_ = 0;
        return false;
      }
    }
    if (!rows_) make_batch();  // there was no memory for it
    admit();
    count_step(rows_->advance());
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    for (const std::weak_ptr<Job>& weak : running_)
      if (const std::shared_ptr<Job> job = weak.lock()) job->attained += seconds / static_cast<double>(running_.size());
    waiting_ = in_lines_ + rows_->waiting() + rows_->busy();
  } catch (...) {
    fail_all(compute_failure());
  }
  return true;
}

// Where the time of the thread goes: what is missing to the clock's is waiting for requests, or other models' work.
void GenerationQueue::count_step(std::size_t written) {
  metrics_.count("attend_generated_tokens_total", {}, static_cast<double>(written));
  metrics_.observe("attend_generation_rows_size", static_cast<double>(rows_->busy()));
  const decode::TextRows::Times now = rows_->times();
  constexpr std::string_view kSeconds = "attend_generation_seconds_total";
  metrics_.count(kSeconds, "part=\"prompts\"", now.prompts - counted_.prompts);
  metrics_.count(kSeconds, "part=\"steps\"", now.steps - counted_.steps);
  metrics_.count(kSeconds, "part=\"texts\"", now.texts - counted_.texts);
  if (now.prompts > counted_.prompts) metrics_.count("attend_generation_prompt_batches_total");
  counted_ = now;
  const decode::TextRows::Reading read = rows_->reading();
  const auto count = [&](std::string_view name, std::int64_t decode::TextRows::Reading::*tokens) {
    if (const std::int64_t more = read.*tokens - counted_reading_.*tokens; more > 0)
      metrics_.count(name, {}, static_cast<double>(more));
  };
  count("attend_prompt_tokens_total", &decode::TextRows::Reading::tokens);
  count("attend_prompt_cached_tokens_total", &decode::TextRows::Reading::known);
  count("attend_prompt_pieces_total", &decode::TextRows::Reading::pieces);
  counted_reading_ = read;
}

// A step that fails leaves rows of which nobody knows what they have: all are told, and the rest begins anew.
void GenerationQueue::fail_all(const std::exception_ptr& failure) noexcept {
  const auto tell = [&](Job& job) {
    if (std::exchange(job.told, true) || !job.listener.on_failure) return;
    try {
      job.listener.on_failure(failure);
    } catch (...) {  // no memory to say so: its client sees the end of the connection
    }
  };
  for (const std::weak_ptr<Job>& weak : running_)
    if (const std::shared_ptr<Job> job = weak.lock()) tell(*job);
  running_.clear();
  std::deque<std::shared_ptr<Job>> arrived;
  {
    const std::lock_guard lock(mutex_);
    arrived.swap(arrived_);
  }
  for (const std::shared_ptr<Job>& job : arrived) {
    tell(*job);
    for (Job::Sample& sample : job->samples) sample.text.reset();  // which refers to the job
  }
  lines_.clear(), in_lines_ = 0;
  try {
    make_batch();
  } catch (...) {  // the next request finds out
    rows_.reset();
  }
}

std::size_t GenerationQueue::waiting() const { return waiting_; }

}  // namespace attend::serve
