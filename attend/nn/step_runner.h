// One decoding step after another, on the device as far as it goes: a step that works on the same memory as the one
// before is planned, then captured, and from then on is one launch; and when the device knows the next token of each
// row, the likeliest (greedy search) or one that it draws, it goes on by itself, a step or two ahead of the host.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "attend/nn/kv_cache.h"
#include "attend/nn/step_model.h"
#include "attend/tensor/pass.h"
#include "attend/tensor/step_graph.h"

namespace attend {
class AsyncReadback;  // backend.h
}

namespace attend::nn {

class StepRunner {
 public:
  // Steps run in a pass of their own beside this one, with its probe.
  explicit StepRunner(const Pass& beside);
  ~StepRunner();

  // What a step reads, i32: [rows, 1], [rows, 1], and where the caches take it.
  struct Newest {
    Tensor tokens, positions;
    CachePlaces places;
  };
  // A ring, and the positions that a row of its caches has room for now.
  struct RingRoom {
    CacheRing ring;
    std::int64_t capacity;
  };
  // -> logits [rows, V]. Reads nothing that changes from step to step but `newest`.
  using Body = std::function<Tensor(Pass& pass, const Newest& newest)>;
  struct Step {
    std::span<const std::int32_t> tokens, positions;  // one per row; position -1: an empty row, nobody reads its answer
    std::int64_t capacity;                            // positions of a row of the caches that keep all
    std::int64_t limit;                               // how many of them may be used
    StepModel::Wanted wanted = {};
    std::span<const std::int64_t> entered = {};  // rows with another text than the step before, or with a new one
    std::span<const RingRoom> rings = {};        // of the caches that roll; the same at every step
  };
  // u8 [V]: what is never among the top k.
  void suppress(const Tensor& suppressed) {
    suppressed_ = suppressed;
    memory_moved();
  }
  // body must be the same until memory_moved().
  StepModel::Scores run(const Step& step, const Body& body);
  // What the body works on is not where it was, or has other rows.
  void memory_moved() { ++memory_; }
  // The last run() answered a step that was launched before this row was entered: it says nothing of it.
  bool missed(std::int64_t row) const {
    const auto i = static_cast<std::size_t>(row);
    return i < missed_.size() && missed_[i];
  }

 private:
  bool fits(const Step& step) const;
  void prepare(const Step& step);
  void send(const Step& step);
  void launch(const Body& body);
  void leave_answer(const Tensor& logits);
  void leave_list(const Tensor& logits, std::int64_t values, std::int64_t ids);
  void read_answer();
  void note_missed(const Step& step);
  void join(const Step& step);
  bool expected(const Step& step) const;
  bool goes_ahead() const;

  // i32 words shared with the device, in this order: positions, lengths, slots, those of each ring, tokens [rows] each,
  // values [rows, top_k], log_sums [rows], ids [rows, top_k]. With top_k 1 the ids are the tokens: the next step reads
  // them there. With draws: positions, .., those of the draws [rows], the draws [rows, kDrawWords], tokens, their
  // logits, log_sums [rows], values and ids [rows, top_k].
  Tensor words(std::int64_t begin, const Shape& shape, DType dtype) const;
  // Words that count on from step to step come first.
  std::int64_t moving() const { return (3 + rings_ + (draws_ ? 1 : 0)) * rows_; }
  std::int64_t tokens_begin() const { return moving() + (draws_ ? kDrawWords * rows_ : 0); }
  std::int64_t values_begin() const { return tokens_begin() + rows_; }
  std::int64_t sums_begin() const { return values_begin() + (draws_ ? 1 : top_k_) * rows_; }
  std::int64_t ids_begin() const { return top_k_ == 1 ? tokens_begin() : sums_begin() + rows_; }
  bool chooses() const { return draws_ || top_k_ == 1; }  // the device knows the next tokens
  // What the host reads of an answer, from the tokens on where they are chosen.
  std::int64_t answer_begin() const { return chooses() ? tokens_begin() : values_begin(); }
  std::int64_t answer_words() const {
    return draws_ ? (3 + 2 * top_k_) * rows_ : top_k_ == 1 ? 3 * rows_ : (2 * top_k_ + 1) * rows_;
  }
  // Where the next token of a row overwrites the oldest: the device does not know the way there by itself.
  bool rolls_over(const Step& step, std::int64_t steps) const;

  Pass pass_;
  StepGraph graph_;
  std::uint64_t memory_ = 0, prepared_ = ~std::uint64_t{0};
  std::int64_t rows_ = 0, top_k_ = 0, rings_ = 0, runs_ = 0;
  bool draws_ = false;
  Tensor suppressed_, words_, ones_, logits_;  // ones_: places; logits_: all of them, when they are asked for
  std::vector<std::int32_t> sent_;
  std::vector<float> all_, values_, log_sums_, drawn_logits_;
  std::vector<std::int32_t> ids_, chosen_;  // chosen_: the tokens, where the device knows them
  // Steps under way: the first of them has these positions, empty rows too, chosen_ as its tokens, and these draws.
  std::vector<std::int64_t> next_;
  std::vector<SamplingParams> next_draws_;
  std::int64_t under_way_ = 0, launched_ = 0;
  // By row: how many of them it is missing from, and whether it was from the one answered last.
  std::vector<std::int64_t> missing_;
  std::vector<bool> missed_;
  Tensor joining_;  // i32: where to put the words of rows that join, and the words
  static constexpr std::int64_t kAhead = 2;
  std::vector<std::int32_t> joins_[kAhead + 1];  // what the device may not have read yet
  std::size_t next_joins_ = 0;
  std::unique_ptr<AsyncReadback> mailboxes_[kAhead];  // of step number launched_ modulo kAhead
};

}  // namespace attend::nn
