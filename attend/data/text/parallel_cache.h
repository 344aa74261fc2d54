// A corpus of sentence pairs as token ids in one memory-mapped file. It is made once from two text files (plain or
// gzip, line i of one translates line i of the other) and reused while texts, tokenizer and options are the same.
// Neither the texts nor the cache need to fit into memory.
//
//   const auto corpus = data::ParallelCorpus::open_or_build(
//       {.source = "train.en", .target = "train.fr", .tokenizer = "model/tokenizer.json", .cache =
//       "model/train.pairs"});
//   std::vector<std::int32_t> ids = corpus.source(0).to_vector();
//
// No special tokens are added: what starts and ends a sentence belongs to the batches (pair_batches.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "attend/base/mapped_file.h"

namespace attend::data {

// What became of the lines: lines = pairs + empty + invalid_utf8 + too_long.
struct Report {
  std::uint64_t lines = 0;
  std::uint64_t pairs = 0;         // kept
  std::uint64_t empty = 0;         // left out: nothing but white space on either side
  std::uint64_t invalid_utf8 = 0;  // left out: either side
  std::uint64_t too_long = 0;      // left out: either side has more than max_length tokens
  std::uint64_t source_tokens = 0, target_tokens = 0;
  std::uint64_t source_longest = 0, target_longest = 0;  // in tokens

  bool operator==(const Report&) const = default;
};

// "159,003 lines: 158,990 pairs, 12 empty, 1 not UTF-8"; what did not happen is not mentioned.
std::string to_text(const Report& report);

struct ParallelFiles {
  std::filesystem::path source, target;  // text
  std::filesystem::path tokenizer;       // tokenizer.json, or the folder it is in
  std::filesystem::path cache;           // reused when it fits the other three
  std::filesystem::path rebuilt = {};    // where it is made when it does not; empty: in its place
};

struct ParallelOptions {
  std::int64_t max_length = 0;  // pairs with more tokens on either side are left out; 0: no limit
  int threads = 0;              // 0: all cores. Any number gives the same bytes
  // How far building is, in bytes of text; total is an estimate for gzip files. Called on the caller's thread; what it
  // throws ends the building and leaves no file.
  std::function<void(std::uint64_t done, std::uint64_t total)> on_progress = {};
};

// The ids of a sentence inside the mapped file.
class IdView {
 public:
  IdView(const std::byte* data, std::size_t size, std::size_t id_bytes)
      : data_(data), size_(size), id_bytes_(id_bytes) {}

  std::size_t size() const { return size_; }
  std::int32_t operator[](std::size_t i) const {
    if (id_bytes_ == 2) return read<std::uint16_t>(i);
    return static_cast<std::int32_t>(read<std::uint32_t>(i));
  }
  // Writes size() ids.
  void copy_to(std::int32_t* out) const {
    if (id_bytes_ == 2)
      for (std::size_t i = 0; i < size_; ++i) out[i] = read<std::uint16_t>(i);
    else if (size_ > 0)
      std::memcpy(out, data_, size_ * sizeof(std::uint32_t));
  }
  std::vector<std::int32_t> to_vector() const {
    std::vector<std::int32_t> ids(size_);
    copy_to(ids.data());
    return ids;
  }

 private:
  template <class Stored>
  Stored read(std::size_t i) const {
    Stored id;
    std::memcpy(&id, data_ + i * sizeof(Stored), sizeof(Stored));
    return id;
  }

  const std::byte* data_;
  std::size_t size_, id_bytes_;
};

class ParallelCorpus {
 public:
  // The cache when it is whole and was made from these files with these options, else it is made anew. Throws Error
  // when the texts have different numbers of lines, or when anything cannot be read or written.
  static ParallelCorpus open_or_build(const ParallelFiles& files, const ParallelOptions& options = {});
  // Whatever the cache was made from. All of it is read once and checked; throws Error saying what is wrong.
  static ParallelCorpus open(const std::filesystem::path& cache, int threads = 0);

  std::int64_t pairs() const { return static_cast<std::int64_t>(report_.pairs); }
  const Report& report() const { return report_; }
  // Every id is below this; at most the rows of the model's embedding.
  std::int32_t id_limit() const { return id_limit_; }
  // Whether open_or_build had to build.
  bool built() const { return built_; }

  // In tokens. The ids are not touched.
  struct Lengths {
    std::int64_t source = 0, target = 0;
  };
  Lengths lengths(std::int64_t pair) const;
  // Throws Error when the file was cut short since it was opened.
  void check_whole() const { file_.check_whole(); }
  IdView source(std::int64_t pair) const { return view(pair, 0); }
  IdView target(std::int64_t pair) const { return view(pair, 1); }

 private:
  friend struct CacheFile;
  explicit ParallelCorpus(MappedFile file) : file_(std::move(file)) {}

  const std::byte* group_of(std::int64_t pair) const;
  IdView view(std::int64_t pair, int side) const;

  MappedFile file_;
  Report report_;
  const std::byte* directory_ = nullptr;  // in file_, whose bytes stay where they are when it moves
  std::size_t id_bytes_ = 2;
  std::int32_t id_limit_ = 0;
  bool built_ = false;
};

}  // namespace attend::data
