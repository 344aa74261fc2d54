// Batches of sentence pairs for training with teacher forcing, cut by a budget of tokens. The order is a pure function
// of (seed, epoch): an epoch visits every pair once, in chunks of about a hundred batches; inside a chunk pairs of
// similar length come together, and the batches are then shuffled. Nothing grows with the corpus, and taking up the
// work at a saved position costs one chunk.
//
//   source = ids + end      target = start + ids      labels = ids + end
//
// Shapes are few, because each is a CUDA graph of its own: lengths and counts are rounded up to short lists.
#pragma once

#include <cstdint>
#include <vector>

#include "attend/data/ignored_label.h"
#include "attend/data/permutation.h"
#include "attend/data/text/parallel_cache.h"

namespace attend::data {

struct PairBatchOptions {
  std::int64_t tokens = 4096;   // rows of the target side
  bool packed = true;           // sentences one after another; else side by side with padding
  std::int64_t max_length = 0;  // no sentence of the corpus has more tokens (an Error if one has); 0: its longest
  std::uint64_t seed = 0;
  std::int32_t start = 0, end = 0, pad = 0;
  bool shuffle = true;  // false: the shortest pairs first, every epoch alike
};

// What nn::Sequences is made of.
struct HostSequences {
  std::vector<std::int32_t> ids;        // packed: [rows]; padded: [count, longest]
  std::vector<std::int32_t> positions;  // packed: [rows], from 0 in each sequence
  std::vector<std::int32_t> offsets;    // packed: [count + 1]
  std::vector<std::int32_t> lengths;    // padded: [count]
  std::int64_t count = 0, longest = 0;

  bool operator==(const HostSequences&) const = default;
};

struct HostPairBatch {
  HostSequences source, target;
  std::vector<std::int32_t> labels;  // like target.ids; kIgnoredLabel where nothing is to be said
  std::uint64_t key = 0;             // the same for batches of the same shape
  std::int64_t target_tokens = 0;    // labels that count
  std::int64_t source_tokens = 0;    // without filling
  std::int64_t pairs = 0;

  bool operator==(const HostPairBatch&) const = default;
};

// A batch yet to come.
struct Position {
  std::uint64_t epoch = 0, chunk = 0, batch = 0;

  bool operator==(const Position&) const = default;
};

class PairBatches {
 public:
  // The corpus must outlive this.
  PairBatches(const ParallelCorpus& corpus, const PairBatchOptions& options);

  // The epochs never end; position().epoch says when one is over.
  HostPairBatch next();
  // As next(), without making it.
  void skip(std::uint64_t count);
  // Of what next() returns next.
  Position position() const { return position_; }
  // Throws Error for a position these batches do not have.
  void seek(Position position);

  // Packed: every batch has so many rows.
  std::int64_t source_rows() const { return source_rows_; }
  std::int64_t target_rows() const { return target_rows_; }
  std::uint64_t chunks() const { return chunks_; }  // an epoch

 private:
  struct Item {
    std::int64_t pair = 0;
    std::int32_t source = 0, target = 0;  // rows
    std::int32_t longest = 0;             // of the two, rounded up
  };
  struct Plan {
    std::size_t begin = 0, end = 0;  // of items_
    std::int64_t source_rows = 0, target_rows = 0;
    std::int64_t source_longest = 0, target_longest = 0;
    std::int64_t longest = 0, count = 0;  // the shape
  };

  void step();
  void plan_chunk();
  void read_items();
  void sort_items();
  void plan_packed();
  void plan_padded();
  void shuffle_plans();
  HostPairBatch make_packed(const Plan& plan) const;
  HostPairBatch make_padded(const Plan& plan) const;

  const ParallelCorpus& corpus_;
  PairBatchOptions options_;
  std::int64_t source_rows_ = 0, target_rows_ = 0;
  std::uint64_t chunks_ = 1;

  Position position_;
  bool planned_ = false;  // items_ and plans_ are those of position_'s chunk
  std::vector<Item> items_, sorted_;
  std::vector<Plan> plans_;
};

// One epoch.
std::vector<HostPairBatch> all_batches(const ParallelCorpus& corpus, const PairBatchOptions& options);

}  // namespace attend::data
