#include "attend/tensor/block_cache.h"

#include <algorithm>
#include <bit>

namespace attend {

namespace {

constexpr std::size_t kSmallest = 512, kLargest = std::size_t{128} << 20;

}  // namespace

std::size_t BlockCache::rounded(std::size_t bytes) {
  if (bytes > kLargest) return bytes;
  const std::size_t step = std::max(kSmallest, std::bit_floor(bytes) / 8);
  return std::max(kSmallest, (bytes + step - 1) / step * step);
}

void* BlockCache::take(std::size_t bytes) {
  const auto found = blocks_.find(rounded(bytes));
  if (found == blocks_.end() || found->second.empty()) return nullptr;
  void* data = found->second.back();
  found->second.pop_back();
  kept_ -= found->first;
  return data;
}

bool BlockCache::keep(void* data, std::size_t bytes) {
  const std::size_t size = rounded(bytes);
  if (bytes > kLargest || size > most_ - std::min(most_, kept_)) return false;
  blocks_[size].push_back(data);
  kept_ += size;
  return true;
}

std::vector<void*> BlockCache::give_up() {
  std::vector<void*> all;
  for (const auto& [size, blocks] : blocks_) all.insert(all.end(), blocks.begin(), blocks.end());
  blocks_.clear();
  kept_ = 0;
  return all;
}

}  // namespace attend
