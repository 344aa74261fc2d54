// Runs decoding steps, as far as possible on the device. A step on the same memory as the one before is planned, then
// captured, and from then on is one launch. If the device knows the next token of each row (greedy search or sampling),
// it continues by itself, up to two steps ahead of the host.
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
  // Steps run in a pass of their own, with the probe of this one.
  explicit StepRunner(const Pass& beside);
  ~StepRunner();

  // The input of a step: tokens and positions i32 [rows, 1], and their places in the caches.
  struct Newest {
    Tensor tokens, positions;
    CachePlaces places;
    Tensor moves = {};  // i32 [rows], if the step has any
    // Chooses the tokens from states [rows, C] and the table of the output layer, [V, C]. False if this step or device
    // needs the logits.
    std::function<bool(const Tensor& states, const Tensor& table)> choose = {};
  };
  // A ring and the current capacity of a row in its caches.
  struct RingRoom {
    CacheRing ring;
    std::int64_t capacity;
  };
  // Computes logits [rows, V], or nothing if the tokens have been chosen. Only `newest` may change from step to step.
  using Body = std::function<Tensor(Pass& pass, const Newest& newest)>;
  struct Step {
    std::span<const std::int32_t> tokens, positions;  // one per row; position -1 is an empty row
    std::int64_t capacity;                            // capacity of a row in caches that keep all positions
    std::int64_t limit;                               // how many of them may be used by a text
    StepModel::Wanted wanted = {};
    std::span<const std::int64_t> entered = {};  // rows whose text is new since the last step
    std::span<const RingRoom> rings = {};        // rings of caches that roll; the same at every step
    std::span<const std::int32_t> moves = {};    // the row that each row continues, if the body wants to know it
    bool one_text = false;  // rows are positions of one text, in the first row of the caches; the same at every step
  };
  // u8 [V]: tokens that are excluded from the top k and from sampling.
  void suppress(const Tensor& suppressed) {
    suppressed_ = suppressed;
    memory_moved();
  }
  // Runs a step. body must stay the same until memory_moved().
  StepModel::Scores run(const Step& step, const Body& body);
  // Call it when the tensors that the body reads have moved, or have other rows.
  void memory_moved() { ++memory_; }
  // True if the last run() returned a step that was launched before this row entered. Its scores do not cover the row.
  bool missed(std::int64_t row) const {
    const auto i = static_cast<std::size_t>(row);
    return i < missed_.size() && missed_[i];
  }

 private:
  bool fits(const Step& step) const;
  void prepare(const Step& step);
  void send(const Step& step);
  void launch(const Body& body);
  bool choose(const Tensor& states, const Tensor& table);
  void leave_answer(const Tensor& logits);
  void leave_scores(const Tensor& logits);
  void leave_list(const Tensor& logits, std::int64_t values, std::int64_t ids);
  void read_answer();
  void note_missed(const Step& step);
  void join(const Step& step);
  bool expected(const Step& step) const;
  bool goes_ahead() const;
  bool long_empty(const Step& step);

  // The i32 words that host and device share, in this order: positions, lengths, slots, slots of each ring, tokens
  // [rows] each, values [rows, top_k], log_sums [rows], ids [rows, top_k]. With top_k 1 the ids are the tokens, where
  // the next step reads them. Moves [rows] stand before the tokens. With sampling: positions and so on, positions of
  // the samples [rows], their parameters [rows, kDrawWords], tokens, their logits, log_sums [rows], values and ids
  // [rows, top_k].
  Tensor words(std::int64_t begin, const Shape& shape, DType dtype) const;
  // Words that increase by 1 with every step come first.
  std::int64_t moving() const { return (3 + rings_ + (draws_ ? 1 : 0)) * rows_; }
  std::int64_t moves_begin() const { return moving() + (draws_ ? kDrawWords * rows_ : 0); }
  std::int64_t tokens_begin() const { return moves_begin() + (moves_ ? rows_ : 0); }
  std::int64_t values_begin() const { return tokens_begin() + rows_; }
  std::int64_t sums_begin() const { return values_begin() + (draws_ ? 1 : top_k_) * rows_; }
  std::int64_t ids_begin() const { return top_k_ == 1 ? tokens_begin() : sums_begin() + rows_; }
  bool chooses() const { return draws_ || top_k_ == 1; }  // true if the device chooses the next tokens
  // The part of the words that the host reads; it begins with the tokens if the device chooses them.
  std::int64_t answer_begin() const { return chooses() ? tokens_begin() : values_begin(); }
  std::int64_t answer_words() const {
    return draws_ ? (3 + 2 * top_k_) * rows_ : top_k_ == 1 ? 3 * rows_ : (2 * top_k_ + 1) * rows_;
  }
  // True if a ring wraps around within these steps. The device only adds 1 and cannot do that by itself.
  bool rolls_over(const Step& step, std::int64_t steps) const;

  Pass pass_;
  StepGraph graph_;
  std::uint64_t memory_ = 0, prepared_ = ~std::uint64_t{0};
  std::int64_t rows_ = 0, top_k_ = 0, rings_ = 0, runs_ = 0;
  bool draws_ = false, moves_ = false, one_text_ = false;
  // ones_ is added to the moving words after each step; logits_ keeps all logits if they are wanted.
  Tensor suppressed_, words_, ones_, logits_;
  std::vector<std::int32_t> sent_;
  std::vector<float> all_, values_, log_sums_, drawn_logits_;
  std::vector<std::int32_t> ids_, chosen_;  // chosen_: the tokens that the device chose
  // State of the oldest running step: its positions (of empty rows, too) and samples. Its tokens are chosen_.
  std::vector<std::int64_t> next_;
  std::vector<SamplingParams> next_draws_;
  std::int64_t under_way_ = 0, launched_ = 0;
  // Per row: how many running steps do not include it, and whether the step returned last did not.
  std::vector<std::int64_t> missing_;
  std::vector<bool> missed_;
  std::vector<std::int64_t> empty_;  // per row: steps since it was sent, or held a text
  Tensor joining_;                   // i32: indices and values of the words of rows that join
  static constexpr std::int64_t kAhead = 2;
  std::vector<std::int32_t> joins_[kAhead + 1];  // may still be in transfer to the device
  std::size_t next_joins_ = 0;
  std::unique_ptr<AsyncReadback> mailboxes_[kAhead];  // one per running step, by launched_ modulo kAhead
};

}  // namespace attend::nn
