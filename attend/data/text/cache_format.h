// What a parallel cache looks like in a file, little-endian:
//   u64      kMagic
//   groups   of kGroupPairs pairs, the last one may have fewer:
//              u64 bounds[2·pairs + 1]   source i is ids [bounds[2i], bounds[2i + 1]), target i the next, counted in
//              ids ids                       u16 or u32, then zeros up to a multiple of 8 bytes
//   u64      directory[groups][2]        where the group starts, and its hash
//   Trailer
// It is written from front to back with one group in memory, so what is only known at the end comes last.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <type_traits>

#include "attend/base/file_mark.h"
#include "attend/data/text/parallel_cache.h"

namespace attend::data {

static_assert(std::endian::native == std::endian::little);

inline constexpr std::uint64_t kMagic = 0x3173726961507461;  // "atPairs1"
inline constexpr std::uint64_t kFormat = 3;                  // rises whenever old caches must not be read
inline constexpr std::uint64_t kGroupPairs = 4096;

struct GroupEntry {
  std::uint64_t at = 0, hash = 0;
};

struct Fingerprint {
  std::uint64_t format = kFormat;
  std::uint64_t tokenizer = 0;  // a hash of its file
  std::uint64_t max_length = 0;
  FileMark source = {}, target = {};
};

struct Trailer {
  Fingerprint fingerprint = {};
  Report report = {};
  std::uint64_t id_bytes = 2, id_limit = 0;
  std::uint64_t groups = 0, directory_at = 0, directory_hash = 0;
  std::uint64_t hash = 0;  // of what is above
};
static_assert(std::is_trivially_copyable_v<Trailer> && std::has_unique_object_representations_v<Trailer>);

inline std::string_view bytes_before_hash(const Trailer& trailer) {
  return {reinterpret_cast<const char*>(&trailer), offsetof(Trailer, hash)};
}

// Writes the cache, all or nothing, and returns its trailer's report.
Report build_parallel_cache(const ParallelFiles& files, const ParallelOptions& options, const Fingerprint& fingerprint);

}  // namespace attend::data
