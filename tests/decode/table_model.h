// A model small enough to search by hand: the logits after a prefix are numbers drawn from the prefix itself.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <set>
#include <span>
#include <vector>

#include "attend/base/random.h"
#include "attend/nn/step_model.h"

namespace attend::test {

using Tokens = std::vector<std::int32_t>;

// logit(sentence, prefix without the start, token)
using LogitFunction = std::function<float(std::size_t sentence, const Tokens& prefix, std::int32_t token)>;

inline LogitFunction random_logits(std::uint64_t seed, float spread) {
  return [=](std::size_t sentence, const Tokens& prefix, std::int32_t token) {
    std::uint64_t key = sentence + 1;
    for (std::int32_t id : prefix) key = key * 31 + static_cast<std::uint64_t>(id) + 7;
    return spread * to_unit(random_word(seed, static_cast<std::uint32_t>(token), key));
  };
}

class TableModel : public nn::StepModel {
 public:
  TableModel(std::int64_t vocabulary, std::size_t sentences, std::size_t group, LogitFunction logit)
      : vocabulary_(vocabulary), group_(group), logit_(std::move(logit)) {
    for (std::size_t i = 0; i < sentences * group; ++i) rows_.push_back({i / group, {}});
  }

  std::int64_t vocabulary() const override { return vocabulary_; }

  std::int64_t suppress(std::span<const std::int32_t> ids) override {
    suppressed_ = {ids.begin(), ids.end()};
    return vocabulary_ - static_cast<std::int64_t>(suppressed_.size());
  }

  Scores step(std::span<const std::int32_t> tokens, const Wanted& wanted) override {
    EXPECT_EQ(tokens.size(), rows_.size());
    logits_.clear(), log_sums_.clear();
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (steps_ > 0) rows_[r].prefix.push_back(tokens[r]);
      double sum = 0;
      for (std::int32_t token = 0; token < vocabulary_; ++token) {
        logits_.push_back(logit_(rows_[r].sentence, rows_[r].prefix, token));
        sum += std::exp(static_cast<double>(logits_.back()));
      }
      log_sums_.push_back(static_cast<float>(std::log(sum)));
    }
    ++steps_;
    if (wanted.top_k == 0) return {logits_, log_sums_};
    keep_top_k(static_cast<std::size_t>(wanted.top_k));
    return {logits_, log_sums_, ids_};
  }

  // As on a GPU, where finished rows stay for a while.
  void make_drops_costly() { cheap_ = false; }
  bool drops_rows_cheaply() const override { return cheap_; }
  int drops() const { return drops_; }  // how often rows were dropped

  void reorder(std::span<const std::int32_t> from) override {
    ASSERT_EQ(from.size() % group_, 0u);
    drops_ += from.size() < rows_.size();
    std::vector<Row> next;
    for (std::size_t i = 0; i < from.size(); ++i) {
      next.push_back(rows_.at(static_cast<std::size_t>(from[i])));
      EXPECT_EQ(next[i].sentence, next[i / group_ * group_].sentence) << "a group has rows of two sentences";
    }
    rows_ = std::move(next);
  }

  int steps() const { return steps_; }

 private:
  struct Row {
    std::size_t sentence;
    Tokens prefix;
  };
  void keep_top_k(std::size_t top_k) {
    const auto vocabulary = static_cast<std::size_t>(vocabulary_);
    std::vector<float> kept;
    ids_.clear();
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      const float* row = logits_.data() + r * vocabulary;
      Tokens order(vocabulary);
      std::iota(order.begin(), order.end(), 0);
      std::erase_if(order, [&](std::int32_t id) { return suppressed_.contains(id); });
      std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return row[a] > row[b]; });
      for (std::size_t i = 0; i < top_k; ++i) ids_.push_back(order[i]), kept.push_back(row[order[i]]);
    }
    logits_ = std::move(kept);
  }

  std::int64_t vocabulary_;
  std::size_t group_;
  LogitFunction logit_;
  std::vector<Row> rows_;
  std::vector<float> logits_, log_sums_;
  Tokens ids_;
  std::set<std::int32_t> suppressed_;
  int steps_ = 0, drops_ = 0;
  bool cheap_ = true;
};

}  // namespace attend::test
