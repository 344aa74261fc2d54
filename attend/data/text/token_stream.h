// Texts as one long row of token ids in a memory-mapped file, made once and reused while text and tokenizer are the
// same; and windows of it to train a language model on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "attend/base/mapped_file.h"

namespace attend::data {

struct TokenStreamFiles {
  std::vector<std::string> texts;  // one behind the other, each plain or .gz
  std::filesystem::path tokenizer, cache;
  std::filesystem::path rebuilt = {};  // where the cache is made when it does not fit; empty: in its place
  // A token behind every line that has any, and lines are read one by one; -1: the text as it is, line feeds included.
  std::int32_t line_end = -1;
};

class TokenStream {
 public:
  // The cache when it belongs to these texts and this tokenizer, else it is made anew. Invalid UTF-8 is an Error.
  static TokenStream open_or_build(const TokenStreamFiles& files);

  std::int64_t size() const { return size_; }
  std::int32_t operator[](std::int64_t i) const;
  // Throws Error when the file was cut short since it was opened.
  void check_whole() const { file_.check_whole(); }

 private:
  explicit TokenStream(MappedFile file);

  MappedFile file_;
  std::int64_t size_ = 0;
  std::size_t begin_ = 0;  // of the ids in the file
};

// What a language model trains on: `rows` windows of `length` tokens, and for each place the token that follows it.
struct TokenWindows {
  std::vector<std::int32_t> ids, labels;  // [rows, length]
};

// The windows of batch number `batch`: their places are a pure function of seed, batch and row.
TokenWindows random_windows(const TokenStream& stream, std::int64_t rows, std::int64_t length, std::uint64_t seed,
                            std::uint64_t batch);
// Windows [first, first + rows) of the whole stream, cut without overlap; labels beyond the end are -100.
TokenWindows window_at(const TokenStream& stream, std::int64_t first, std::int64_t rows, std::int64_t length);
std::int64_t window_count(const TokenStream& stream, std::int64_t length);

}  // namespace attend::data
