// Continuous batching (Yu et al. 2022) a step at a time: texts enter the rows of a batch as some become free, each gets
// one more token a step, drawn by rules of its own, and leaves when it is at its end. sample_texts() does this with
// texts that are all there at the beginning, attend serve with those that come and go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "attend/decode/sampler.h"
#include "attend/nn/batch_model.h"

namespace attend::decode {

// A text that wants a row, or has one.
struct RowText {
  std::vector<std::int32_t> prompt = {};  // a token at least
  std::int64_t max_length = 1;            // tokens behind it
  std::uint64_t seed = 1;
  std::uint32_t sample = 0;                // which of several of this prompt and seed
  const SampleOptions* options = nullptr;  // must outlive it, as must the drawer made of it
  Sampler* drawer = nullptr;
  std::int64_t likeliest = 0;  // how many of the likeliest tokens on_token is to see

  // What became of one step: the token, and the scores it was drawn from (row 0 of them).
  struct Step {
    std::int32_t token = 0;
    double log_probability = 0;
    const nn::StepModel::Scores& scores;
  };
  // After every token but the end; true ends the text there, as finished.
  std::function<bool(const RowText& text, const Step& step)> on_token = {};
  std::function<void(const RowText& text)> on_done = {};
  // Asked at every step; true: the text leaves as it is, and nobody hears of it.
  std::function<bool()> dropped = {};

  Writing writing = {};
  bool begun = false;  // some of its prompt has been read
};

class TextRows {
 public:
  struct Options {
    // So many rows must be empty before prompts are read into them, if so many wait: reading one costs a GPU about what
    // a step of all rows does.
    std::size_t together = 1;
    // Prompts are read together up to about so many tokens: enough to fill a GPU, and no bound on memory.
    std::size_t tokens_at_once = 4096;
    // So many steps of others, a text that came alone waits for company; 0: nobody comes but those that wait already.
    std::size_t patience = 0;
  };
  // Seconds: reading prompts, waiting for steps of the model, and drawing tokens from its scores with what becomes of
  // them.
  struct Times {
    double prompts = 0, steps = 0, texts = 0;
  };
  // Tokens of prompts that have entered, those of them that an earlier prompt had read, and pieces of long ones.
  struct Reading {
    std::int64_t tokens = 0, known = 0, pieces = 0;
  };
  // Tokens that all texts never write are the model's to suppress, before.
  TextRows(nn::BatchModel& model, const Options& options);

  void add(std::shared_ptr<RowText> text);  // behind those that wait
  bool idle() const { return waiting_.empty() && busy_ == 0; }
  std::size_t waiting() const { return waiting_.size(); }
  std::size_t busy() const { return busy_; }
  const Times& times() const { return times_; }
  const Reading& reading() const { return reading_; }
  // Reads prompts or a piece of one, or writes one more token of every text. How many tokens were written.
  std::size_t advance();

 private:
  void drop();
  bool enough_wait() const;
  bool prepared(RowText& text);
  void enter();
  void write(std::size_t row, const nn::StepModel::Scores& scores, std::size_t from);
  // What to ask the model for these rows, and how they draw.
  nn::StepModel::Wanted wanted(std::span<const std::size_t> rows);
  SamplingParams draw_of(const RowText& text) const;

  nn::BatchModel& model_;
  Options options_;
  std::deque<std::shared_ptr<RowText>> waiting_;
  std::vector<std::shared_ptr<RowText>> rows_;
  std::vector<std::int32_t> tokens_;  // the newest of each row
  std::vector<SamplingParams> draws_;
  bool draws_tokens_ = false;  // a text that is not greedy is, or was, among them
  std::vector<std::size_t> all_rows_;
  std::size_t busy_ = 0, written_ = 0;
  std::size_t held_ = 0;     // steps that somebody has waited
  bool piece_read_ = false;  // of a prompt since the last step
  Times times_;
  Reading reading_;
};

}  // namespace attend::decode
