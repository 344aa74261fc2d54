#include "attend/tasks/device_batch.h"

namespace attend::tasks {

namespace {

// fn(numbers) for every list of a batch, in the order they lie on the device.
template <class Fn>
void for_each_list(const data::HostPairBatch& batch, Fn fn) {
  for (const data::HostSequences* side : {&batch.source, &batch.target})
    for (const std::vector<std::int32_t>* list : {&side->ids, &side->positions, &side->offsets, &side->lengths})
      fn(*list);
  fn(batch.labels);
}

// Lists start on 256-byte boundaries.
constexpr std::size_t kAlign = 64;
std::size_t padded(std::size_t count) { return (count + kAlign - 1) / kAlign * kAlign; }

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
  std::size_t total = 0;
  for_each_list(batch, [&](const std::vector<std::int32_t>& list) { total += padded(list.size()); });
  Place place{make_tensor(backend_, {static_cast<std::int64_t>(total)}, DType::i32), {}};
  std::int64_t at = 0;
  const auto take = [&](std::size_t count, const Shape& shape) {
    const Tensor part = place.memory.slice_first(at, static_cast<std::int64_t>(count));
    at += static_cast<std::int64_t>(padded(count));
    return count == 0 ? Tensor() : part.reshape(shape);
  };
  const auto side = [&](const data::HostSequences& host) {
    const bool packed = !host.offsets.empty();
    const auto rows = static_cast<std::int64_t>(host.ids.size());
    nn::Sequences sequences;
    sequences.ids = take(host.ids.size(), packed ? Shape{rows} : Shape{host.count, host.longest});
    sequences.positions = take(host.positions.size(), {rows});
    sequences.offsets = take(host.offsets.size(), {host.count + 1});
    sequences.lengths = take(host.lengths.size(), {host.count});
    sequences.longest = host.longest;
    return sequences;
  };
  place.batch.source = side(batch.source);
  place.batch.target = side(batch.target);
  place.batch.labels = take(batch.labels.size(), place.batch.target.ids.shape());
  return place;
}

const models::PairBatch& DeviceBatches::put(const data::HostPairBatch& batch) {
  auto found = places_.find(batch.key);
  if (found == places_.end()) found = places_.emplace(batch.key, make(batch)).first;
  staged_.assign(static_cast<std::size_t>(found->second.memory.size()), 0);
  std::size_t at = 0;
  for_each_list(batch, [&](const std::vector<std::int32_t>& list) {
    std::copy(list.begin(), list.end(), staged_.begin() + static_cast<std::ptrdiff_t>(at));
    at += padded(list.size());
  });
  upload(found->second.memory, staged_);
  return found->second.batch;
}

}  // namespace attend::tasks
