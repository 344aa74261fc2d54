// Batches of pairs, against plain loops: every pair once per epoch, the layout, the budgets, the filling, and resuming.
#include "attend/data/text/pair_batches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "attend/data/shapes.h"
#include "tests/data/corpus_files.h"

namespace attend::data {
namespace {

using test::CorpusTest, test::message_of;
using Ids = std::vector<std::int32_t>;
using Pair = std::pair<Ids, Ids>;

constexpr std::int32_t kStart = 101, kEnd = 102, kPad = 103;

PairBatchOptions options_of(bool packed, std::int64_t tokens = 1000) {
  return {.tokens = tokens, .packed = packed, .seed = 11, .start = kStart, .end = kEnd, .pad = kPad};
}

Ids rows_of(const Ids& ids, std::int64_t begin, std::int64_t end) { return {ids.begin() + begin, ids.begin() + end}; }

// What a source or target sequence must look like around its ids; returns those.
Pair unwrap(const Ids& source, const Ids& target, const Ids& labels) {
  EXPECT_EQ(source.back(), kEnd);
  EXPECT_EQ(target.front(), kStart);
  EXPECT_EQ(labels.back(), kEnd);
  const Ids ids(labels.begin(), labels.end() - 1);
  EXPECT_EQ(Ids(target.begin() + 1, target.end()), ids);
  return {Ids(source.begin(), source.end() - 1), ids};
}

bool all_are(const Ids& ids, std::int32_t value) {
  return std::ranges::all_of(ids, [&](std::int32_t id) { return id == value; });
}

void check_packed_side(const HostSequences& side, std::int64_t rows) {
  ASSERT_EQ(side.ids.size(), static_cast<std::size_t>(rows));
  ASSERT_EQ(side.positions.size(), side.ids.size());
  ASSERT_EQ(side.offsets.size(), static_cast<std::size_t>(side.count + 1));
  ASSERT_EQ(side.offsets.front(), 0);
  ASSERT_EQ(side.offsets.back(), rows);
  ASSERT_EQ(side.longest, round_length(side.longest));
  for (std::size_t b = 0; b + 1 < side.offsets.size(); ++b) {
    ASSERT_LE(side.offsets[b], side.offsets[b + 1]);
    ASSERT_LE(side.offsets[b + 1] - side.offsets[b], side.longest);
    for (int row = side.offsets[b]; row < side.offsets[b + 1]; ++row)
      ASSERT_EQ(side.positions[static_cast<std::size_t>(row)], row - side.offsets[b]);
  }
}

std::vector<Pair> pairs_of_packed(const HostPairBatch& batch, const PairBatches& batches) {
  check_packed_side(batch.source, batches.source_rows());
  check_packed_side(batch.target, batches.target_rows());
  EXPECT_EQ(batch.source.count, batch.target.count);
  EXPECT_EQ(batch.labels.size(), batch.target.ids.size());
  std::vector<Pair> pairs;
  std::int64_t tokens = 0;
  for (std::size_t b = 0; b < static_cast<std::size_t>(batch.target.count); ++b) {
    const Ids source = rows_of(batch.source.ids, batch.source.offsets[b], batch.source.offsets[b + 1]);
    const Ids target = rows_of(batch.target.ids, batch.target.offsets[b], batch.target.offsets[b + 1]);
    const Ids labels = rows_of(batch.labels, batch.target.offsets[b], batch.target.offsets[b + 1]);
    if (pairs.size() < static_cast<std::size_t>(batch.pairs)) {
      pairs.push_back(unwrap(source, target, labels));
      tokens += static_cast<std::int64_t>(labels.size());
    } else {
      EXPECT_TRUE(all_are(source, kPad) && all_are(target, kPad) && all_are(labels, kIgnoredLabel));
    }
  }
  EXPECT_EQ(batch.target_tokens, tokens);
  return pairs;
}

std::vector<Pair> pairs_of_padded(const HostPairBatch& batch, std::int64_t tokens) {
  const std::int64_t longest = batch.target.longest, count = batch.target.count;
  EXPECT_EQ(longest, round_padded_length(longest));
  EXPECT_EQ(count, std::max<std::int64_t>(1, tokens / longest));
  EXPECT_EQ(batch.source.longest, longest);
  EXPECT_EQ(batch.source.count, count);
  EXPECT_TRUE(batch.source.offsets.empty() && batch.source.positions.empty());
  for (const Ids* ids : {&batch.source.ids, &batch.target.ids, &batch.labels})
    EXPECT_EQ(ids->size(), static_cast<std::size_t>(count * longest));
  std::vector<Pair> pairs;
  for (std::int64_t b = 0; b < count; ++b) {
    const std::int64_t first = b * longest, end = first + longest;
    const std::int64_t from = batch.source.lengths[static_cast<std::size_t>(b)];
    const std::int64_t to = batch.target.lengths[static_cast<std::size_t>(b)];
    const bool real = b < batch.pairs;
    if (real)
      pairs.push_back(unwrap(rows_of(batch.source.ids, first, first + from),
                             rows_of(batch.target.ids, first, first + to), rows_of(batch.labels, first, first + to)));
    else
      EXPECT_EQ(from, 1);
    EXPECT_TRUE(all_are(rows_of(batch.source.ids, first + (real ? from : 0), end), kPad));
    EXPECT_TRUE(all_are(rows_of(batch.target.ids, first + (real ? to : 0), end), kPad));
    EXPECT_TRUE(all_are(rows_of(batch.labels, first + (real ? to : 0), end), kIgnoredLabel));
  }
  return pairs;
}

std::vector<Pair> sorted_pairs(const ParallelCorpus& corpus) {
  std::vector<Pair> pairs;
  for (std::int64_t i = 0; i < corpus.pairs(); ++i)
    pairs.emplace_back(corpus.source(i).to_vector(), corpus.target(i).to_vector());
  std::ranges::sort(pairs);
  return pairs;
}

class PairBatchesTest : public CorpusTest {};

TEST_F(PairBatchesTest, AnEpochHasEveryPairOnce) {
  const ParallelCorpus corpus = random_corpus(12000);
  const std::vector<Pair> expected = sorted_pairs(corpus);
  for (const bool packed : {true, false})
    for (const bool shuffle : {true, false}) {
      PairBatchOptions options = options_of(packed, packed ? 500 : 300);
      options.shuffle = shuffle;
      PairBatches batches(corpus, options);
      EXPECT_EQ(batches.chunks() > 2, shuffle);
      std::vector<std::vector<Pair>> epochs(2);
      while (batches.position().epoch < 2) {
        const std::uint64_t epoch = batches.position().epoch;
        const HostPairBatch batch = batches.next();
        const auto pairs = packed ? pairs_of_packed(batch, batches) : pairs_of_padded(batch, options.tokens);
        if (HasFatalFailure()) return;
        epochs[epoch].insert(epochs[epoch].end(), pairs.begin(), pairs.end());
      }
      EXPECT_EQ(epochs[0] == epochs[1], !shuffle);
      for (auto& epoch : epochs) {
        std::ranges::sort(epoch);
        EXPECT_TRUE(epoch == expected) << packed << shuffle;
      }
    }
}

TEST_F(PairBatchesTest, OrderFollowsFromTheSeed) {
  const ParallelCorpus corpus = random_corpus(500);
  PairBatchOptions options = options_of(true, 200);
  const auto first = all_batches(corpus, options);
  EXPECT_TRUE(first == all_batches(corpus, options));
  options.seed = 12;
  EXPECT_FALSE(first == all_batches(corpus, options));
}

TEST_F(PairBatchesTest, FillsTheRowsInFewShapes) {
  const ParallelCorpus corpus = random_corpus(100000);
  for (const std::int64_t tokens : {4096, 10000, 20480}) {
    PairBatches batches(corpus, options_of(true, tokens));
    std::int64_t source = 0, target = 0, count = 0;
    std::map<std::uint64_t, std::set<std::array<std::int64_t, 3>>> shapes;
    while (batches.position().epoch < 2) {
      const HostPairBatch batch = batches.next();
      source += batch.source_tokens, target += batch.target_tokens, ++count;
      shapes[batch.key].insert({batch.source.longest, batch.target.longest, batch.target.count});
    }
    EXPECT_EQ(batches.target_rows(), tokens);
    EXPECT_GT(static_cast<double>(target), 0.95 * static_cast<double>(count * batches.target_rows())) << tokens;
    EXPECT_GT(static_cast<double>(source), 0.91 * static_cast<double>(count * batches.source_rows())) << tokens;
    EXPECT_LE(shapes.size(), tokens < 10000 ? 20u : 12u) << tokens;
    for (const auto& [key, with] : shapes) EXPECT_EQ(with.size(), 1u);
  }
}

TEST_F(PairBatchesTest, SeekingIsHavingWalked) {
  const ParallelCorpus corpus = random_corpus(6000);
  for (const bool packed : {true, false}) {
    const PairBatchOptions options = options_of(packed, 300);
    PairBatches walking(corpus, options), seeking(corpus, options);
    std::vector<std::pair<Position, HostPairBatch>> walked;
    while (walking.position().epoch < 2) {
      const Position at = walking.position();
      walked.emplace_back(at, walking.next());
    }
    for (std::size_t i = walked.size(); i-- > 0; i -= std::min<std::size_t>(i, 6)) {  // backwards, some of them
      seeking.seek(walked[i].first);
      EXPECT_EQ(seeking.position(), walked[i].first);
      EXPECT_TRUE(seeking.next() == walked[i].second) << i;
      const bool last = i + 1 == walked.size();
      EXPECT_TRUE(last || seeking.next() == walked[i + 1].second) << i;
    }
  }
}

TEST_F(PairBatchesTest, RefusesPositionsOfOtherData) {
  const ParallelCorpus corpus = random_corpus(200);
  PairBatches batches(corpus, options_of(true, 300));
  const HostPairBatch first = batches.next();
  const Position before = batches.position();
  EXPECT_NE(message_of([&] { batches.seek({.chunk = batches.chunks()}); }).find("no chunk"), std::string::npos);
  EXPECT_NE(message_of([&] { batches.seek({.batch = 100000}); }).find("no batch"), std::string::npos);
  EXPECT_EQ(batches.position(), before);
  batches.seek({});
  EXPECT_TRUE(batches.next() == first);
}

TEST_F(PairBatchesTest, UnshuffledGoesFromShortToLong) {
  const ParallelCorpus corpus = random_corpus(1000);
  PairBatchOptions options = options_of(true, 400);
  options.shuffle = false;
  const auto batches = all_batches(corpus, options);
  ASSERT_GT(batches.size(), 10u);
  for (std::size_t i = 1; i < batches.size(); ++i) EXPECT_GE(batches[i].target.longest, batches[i - 1].target.longest);
}

TEST_F(PairBatchesTest, ASentenceLongerThanTheBudgetStillFits) {
  test::Draw draw{4};
  const std::string longer = test::random_line(draw, 70), shorter = test::random_line(draw, 3);
  for (const bool packed : {true, false}) {
    const ParallelCorpus corpus = build(longer + "\n" + shorter + "\na\n", shorter + "\n" + longer + "\nb\n");
    PairBatchOptions options = options_of(packed, 16);
    PairBatches batches(corpus, options);
    std::vector<Pair> pairs;
    while (batches.position().epoch < 1) {
      const HostPairBatch batch = batches.next();
      for (const Pair& pair : packed ? pairs_of_packed(batch, batches) : pairs_of_padded(batch, 16))
        pairs.push_back(pair);
    }
    std::ranges::sort(pairs);
    EXPECT_EQ(pairs, sorted_pairs(corpus));
    options.max_length = 60;
    EXPECT_NE(message_of([&] { PairBatches(corpus, options); }).find("a sentence of 70 tokens, but max_length is 60"),
              std::string::npos);
    options.max_length = 200;
    EXPECT_EQ(PairBatches(corpus, options).target_rows(), 201);
  }
}

TEST_F(PairBatchesTest, RefusesWhatMakesNoSense) {
  const ParallelCorpus corpus = build("a\n", "b\n");
  EXPECT_NE(message_of([&] { PairBatches(corpus, options_of(true, 0)); }).find("tokens is 0"), std::string::npos);
  const ParallelCorpus empty = build("\n", "\n");
  EXPECT_NE(message_of([&] { PairBatches(empty, options_of(true)); }).find("no pairs"), std::string::npos);
}

TEST(Permutation, IsOne) {
  for (std::uint64_t count = 1; count < 400; count += count < 70 ? 1 : 41) {
    const Permutation order(count, count * 7);
    std::set<std::uint64_t> seen;
    for (std::uint64_t i = 0; i < count; ++i) seen.insert(order(i));
    EXPECT_EQ(seen.size(), count);
    EXPECT_LT(*seen.rbegin(), count);
  }
}

// Over many seeds, the element at a place is any of them about equally often (chi-squared, 99 degrees of freedom: 200
// has a probability of 1e-8), and neighbours do not stay together.
TEST(Permutation, LooksRandom) {
  constexpr int kCount = 100, kSeeds = 20000;
  std::vector<int> first(kCount), middle(kCount), step(kCount);
  for (int seed = 0; seed < kSeeds; ++seed) {
    const Permutation order(kCount, static_cast<std::uint64_t>(seed));
    ++first[order(0)], ++middle[order(57)], ++step[(order(58) + kCount - order(57)) % kCount];
  }
  const auto chi_squared = [&](const std::vector<int>& counts, double expected, std::size_t from) {
    double sum = 0;
    for (std::size_t i = from; i < counts.size(); ++i)
      sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    return sum;
  };
  EXPECT_LT(chi_squared(first, 1.0 * kSeeds / kCount, 0), 200);
  EXPECT_LT(chi_squared(middle, 1.0 * kSeeds / kCount, 0), 200);
  EXPECT_LT(chi_squared(step, 1.0 * kSeeds / (kCount - 1), 1), 200);
}

TEST(Shapes, AreRoundedUpToShortLists) {
  std::set<std::int64_t> lengths, padded, counts;
  for (std::int64_t x = 1; x <= 600; ++x) {
    EXPECT_GE(round_length(x), x);
    EXPECT_GE(round_padded_length(x), x);
    EXPECT_GE(round_count(x), x);
    lengths.insert(round_length(x)), padded.insert(round_padded_length(x)), counts.insert(round_count(x));
  }
  EXPECT_EQ(lengths, (std::set<std::int64_t>{8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 640}));
  EXPECT_EQ(padded, (std::set<std::int64_t>{8, 12, 16, 20, 24, 28, 32, 48, 64, 96, 128, 192, 256, 384, 512, 640}));
  EXPECT_EQ(counts, (std::set<std::int64_t>{16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768}));
}

}  // namespace
}  // namespace attend::data
