// Reading memory and nothing else: the roof of work that meets every weight once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "attend/base/thread_pool.h"

namespace attend {

// Reads `bytes` with all threads, each piece in four far-apart streams: what a product that reads its weights once
// could do at best.
inline void read_all(const std::byte* from, std::int64_t bytes, ThreadPool& pool) {
  typedef std::uint64_t Word __attribute__((vector_size(16)));
  const std::int64_t piece = std::clamp<std::int64_t>(bytes / (4 * pool.threads()), 32768, 1 << 20) / 256 * 256;
  pool.for_range(bytes / 256 * 256, piece, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t quarter = (end - begin) / 4;
    const std::byte* at = from + begin;
    Word sum[4] = {};
    for (std::int64_t i = 0; i < quarter; i += 64)
#pragma GCC unroll 4
      for (int s = 0; s < 4; ++s) {
        const std::byte* line = at + s * quarter + i;
        const Word* words = reinterpret_cast<const Word*>(line);
        __builtin_prefetch(line + 512);
        sum[s] ^= (words[0] ^ words[1]) ^ (words[2] ^ words[3]);
      }
    sum[0] ^= (sum[1] ^ sum[2]) ^ sum[3];
    asm volatile("" ::"m"(sum[0]));
  });
}

}  // namespace attend
