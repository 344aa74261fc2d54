#include "attend/tensor/arena.h"

#include <algorithm>
#include <numeric>

#include "attend/base/error.h"
#include "attend/tensor/backend.h"

namespace attend {

namespace {

// Enough for any vector load, cp.async and a cache line pair.
constexpr std::size_t kAlignment = 256;

std::size_t aligned(std::size_t bytes) {
  return std::max<std::size_t>((bytes + kAlignment - 1) / kAlignment * kAlignment, kAlignment);
}

}  // namespace

Arena::~Arena() {
  free_loose();
  for (const Loose& block : blocks_)
    if (block.data) backend_.free(block.data, block.bytes);
  if (slab_) backend_.free(slab_, slab_bytes_);
}

void Arena::begin(std::uint64_t key) {
  check(live_ == 0, "pass: {} tensors of the last step are still alive; copy out what must outlive it", live_);
  finish_step();
  plan_ = key == kNoPlan ? nullptr : &plans_[key];
  recording_ = plan_ && plan_->offsets.empty();
  following_ = plan_ && !recording_;
  cursor_ = 0;
  if (recording_) plan_->events.clear();
  if (following_) grow_slab(plan_->peak);
}

// Packs what the step wrote down, or forgets a plan that the step left.
void Arena::finish_step() {
  for (const Loose& block : blocks_)
    if (block.data) spare_.emplace(block.bytes, block.data);
  blocks_.clear();
  if (!plan_) return;
  if (recording_ && !plan_->events.empty()) {
    pack(*plan_);
    free_loose();
  } else if (!recording_ && (!following_ || cursor_ != plan_->events.size())) {
    *plan_ = Plan{};
  }
}

// Greedy by size: the largest block first, each at the lowest offset free during its whole life.
void Arena::pack(Plan& plan) {
  struct Life {
    std::size_t bytes = 0, from = 0, to = 0;
  };
  std::vector<Life> lives;
  for (std::size_t i = 0; i < plan.events.size(); ++i) {
    const Event& event = plan.events[i];
    if (event.bytes)
      lives.push_back({event.bytes, i, plan.events.size()});
    else
      lives[static_cast<std::size_t>(event.block)].to = i;
  }
  std::vector<std::size_t> order(lives.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return lives[a].bytes > lives[b].bytes; });

  plan.offsets.assign(lives.size(), 0);
  plan.peak = 0;
  std::vector<std::size_t> placed, busy;  // busy: the placed ones alive together with this block, by offset
  for (std::size_t block : order) {
    const Life& life = lives[block];
    busy.clear();
    for (std::size_t other : placed)
      if (lives[other].from < life.to && life.from < lives[other].to) busy.push_back(other);
    std::sort(busy.begin(), busy.end(),
              [&](std::size_t a, std::size_t b) { return plan.offsets[a] < plan.offsets[b]; });
    std::size_t offset = 0;
    for (std::size_t other : busy) {
      if (offset + life.bytes <= plan.offsets[other]) break;
      offset = std::max(offset, plan.offsets[other] + lives[other].bytes);
    }
    plan.offsets[block] = offset;
    plan.peak = std::max(plan.peak, offset + life.bytes);
    placed.push_back(block);
  }
}

Arena::Block Arena::take(std::size_t bytes) {
  bytes = aligned(bytes);
  const auto number = static_cast<std::int32_t>(blocks_.size());
  ++live_;
  if (following_) {
    if (cursor_ < plan_->events.size() && plan_->events[cursor_].bytes == bytes) {
      ++cursor_;
      blocks_.push_back({});
      return {slab_ + plan_->offsets[static_cast<std::size_t>(number)], number};
    }
    following_ = false;
  }
  if (recording_) plan_->events.push_back({number, bytes});
  std::byte* data = take_loose(bytes);
  blocks_.push_back({data, bytes});
  return {data, number};
}

void Arena::give_back(std::int32_t number) {
  --live_;
  if (following_) {
    const bool planned =
        cursor_ < plan_->events.size() && plan_->events[cursor_].bytes == 0 && plan_->events[cursor_].block == number;
    following_ = planned;
    cursor_ += planned;
    return;
  }
  if (recording_) plan_->events.push_back({number, 0});
  Loose& block = blocks_[static_cast<std::size_t>(number)];
  if (block.data) spare_.emplace(block.bytes, block.data);
  block.data = nullptr;
}

void Arena::grow_slab(std::size_t bytes) {
  if (bytes <= slab_bytes_) return;
  free_loose();
  if (slab_) backend_.free(slab_, slab_bytes_);
  slab_ = nullptr;
  slab_bytes_ = 0;
  slab_ = static_cast<std::byte*>(backend_.allocate(bytes));
  slab_bytes_ = bytes;
  ++generation_;
  ++allocations_;
}

// The smallest spare block that fits without wasting more than an eighth; bytes becomes its true size.
std::byte* Arena::take_loose(std::size_t& bytes) {
  const auto found = spare_.lower_bound(bytes);
  if (found != spare_.end() && found->first <= bytes + bytes / 8 + kAlignment) {
    bytes = found->first;
    std::byte* data = found->second;
    spare_.erase(found);
    return data;
  }
  ++allocations_;
  return static_cast<std::byte*>(backend_.allocate(bytes));
}

void Arena::free_loose() {
  for (const auto& [bytes, data] : spare_) backend_.free(data, bytes);
  spare_.clear();
}

}  // namespace attend
