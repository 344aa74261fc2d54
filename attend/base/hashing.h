// A fast hash of short strings (the multiply-and-fold mix of wyhash's family) and of pairs of ids.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace attend {

inline std::uint64_t fold_multiply(std::uint64_t a, std::uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

inline std::uint64_t hash_text(std::string_view text) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15u, kMix = 0xD6E8FEB86659FD93u;
  std::uint64_t state = text.size() * kOdd;
  const char* at = text.data();
  std::size_t left = text.size();
  for (; left >= 8; at += 8, left -= 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    state = fold_multiply(state ^ word, kMix) + kOdd;
  }
  if (left > 0) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, left);
    state = fold_multiply(state ^ word, kMix) + kOdd;
  }
  return fold_multiply(state, kOdd);
}

inline std::uint64_t hash_key(std::uint64_t key) {
  return fold_multiply(key ^ 0x9E3779B97F4A7C15u, 0xD6E8FEB86659FD93u);
}

}  // namespace attend
