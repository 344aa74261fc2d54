#include "attend/train/recipes/translation/device_batch.h"

namespace attend::train {

namespace {

// The lists of a batch in the order they lie on the device.
auto lists_of(const data::HostPairBatch& batch) {
  return [&batch](auto fn) {
    for (const data::HostSequences* side : {&batch.source, &batch.target})
      for (const std::vector<std::int32_t>* list : {&side->ids, &side->positions, &side->offsets, &side->lengths})
        fn(*list);
    fn(batch.labels);
  };
}

}  // namespace

data::HostPairBatch twice(const data::HostPairBatch& batch) {
  data::HostPairBatch result = batch;
  const auto repeat = [](std::vector<std::int32_t>& list, std::size_t skip, std::int32_t shift) {
    const std::size_t count = list.size();
    for (std::size_t i = skip; i < count; ++i) list.push_back(list[i] + shift);
  };
  for (data::HostSequences* side : {&result.source, &result.target}) {
    if (!side->offsets.empty()) repeat(side->offsets, 1, static_cast<std::int32_t>(side->ids.size()));
    for (std::vector<std::int32_t>* list : {&side->ids, &side->positions, &side->lengths}) repeat(*list, 0, 0);
    side->count *= 2;
  }
  repeat(result.labels, 0, 0);
  return result;
}

DeviceBatches::Place DeviceBatches::make(const data::HostPairBatch& batch) const {
  Place place{ListMemory(backend_, lists_of(batch)), {}};
  ListMemory& memory = place.memory;
  const auto side = [&](const data::HostSequences& host) {
    const bool packed = !host.offsets.empty();
    const auto rows = static_cast<std::int64_t>(host.ids.size());
    nn::Sequences sequences;
    sequences.ids = memory.take(host.ids, packed ? Shape{rows} : Shape{host.count, host.longest});
    sequences.positions = memory.take(host.positions, {rows});
    sequences.offsets = memory.take(host.offsets, {host.count + 1});
    sequences.lengths = memory.take(host.lengths, {host.count});
    sequences.longest = host.longest;
    return sequences;
  };
  place.batch.source = side(batch.source);
  place.batch.target = side(batch.target);
  place.batch.labels = memory.take(batch.labels, place.batch.target.ids.shape());
  return place;
}

const models::PairBatch& DeviceBatches::put(const data::HostPairBatch& batch) {
  auto found = places_.find(batch.key);
  if (found == places_.end()) found = places_.emplace(batch.key, make(batch)).first;
  found->second.memory.put(lists_of(batch), staged_);
  return found->second.batch;
}

}  // namespace attend::train
