#include "attend/text/models/word_cache.h"

#include <cstring>

namespace attend::text {

WordCache::WordCache() : entries_(std::make_unique<Entry[]>(kEntries)) {}

bool WordCache::find(std::string_view word, std::uint64_t hash, std::vector<Piece>& out) const {
  if (word.size() > kLongest) return false;
  Entry& entry = entries_[hash >> 32 & (kEntries - 1)];
  if (entry.busy.exchange(true, std::memory_order_acquire)) return false;
  const bool same = entry.length == word.size() && std::memcmp(entry.word, word.data(), word.size()) == 0;
  if (same)
    for (std::size_t i = 0; i < entry.count; ++i) out.push_back({entry.ids[i], entry.bytes[i]});
  entry.busy.store(false, std::memory_order_release);
  return same;
}

void WordCache::insert(std::string_view word, std::uint64_t hash, const Piece* pieces, std::size_t count) const {
  if (word.size() > kLongest || count > kMostPieces) return;
  Entry& entry = entries_[hash >> 32 & (kEntries - 1)];
  if (entry.busy.exchange(true, std::memory_order_acquire)) return;
  entry.length = static_cast<std::uint8_t>(word.size());
  entry.count = static_cast<std::uint8_t>(count);
  std::memcpy(entry.word, word.data(), word.size());
  for (std::size_t i = 0; i < count; ++i) {
    entry.ids[i] = pieces[i].id;
    entry.bytes[i] = static_cast<std::uint8_t>(pieces[i].bytes);
  }
  entry.busy.store(false, std::memory_order_release);
}

}  // namespace attend::text
