// Batches on their way to the device: all numbers of a batch go over in one copy, and batches of one shape always to
// the same place, which is what a captured step needs.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "attend/data/text/pair_batches.h"
#include "attend/models/seq2seq.h"
#include "attend/train/recipes/list_memory.h"

namespace attend::train {

// Every sentence a second time, behind all the others: for a loss that compares two passes over them.
data::HostPairBatch twice(const data::HostPairBatch& batch);

class DeviceBatches {
 public:
  explicit DeviceBatches(Backend& backend) : backend_(backend) {}
  // Copies the batch to the place of its key.
  const models::PairBatch& put(const data::HostPairBatch& batch);

 private:
  struct Place {
    ListMemory memory;
    models::PairBatch batch;
  };
  Place make(const data::HostPairBatch& batch) const;

  Backend& backend_;
  std::unordered_map<std::uint64_t, Place> places_;
  std::vector<std::int32_t> staged_;
};

}  // namespace attend::train
