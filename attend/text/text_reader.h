// Text files, plain or compressed with gzip, block by block: a corpus need not fit into memory.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "attend/base/mapped_file.h"

namespace attend::text {

class TextReader {
 public:
  // A file that begins as gzip files do is decompressed; another one is mapped. next_block() throws Error for one that
  // is no text (base/text_check.h).
  explicit TextReader(const std::filesystem::path& path, std::size_t block_bytes = std::size_t{32} << 20);
  ~TextReader();
  TextReader(TextReader&&) noexcept;

  // The next whole lines, about block_bytes of them, valid until the next call; nothing at the end. A line that is
  // longer than a block comes whole. A byte order mark at the beginning is left out.
  std::string_view next_block();

 private:
  struct Gzip;
  std::string_view next_mapped();
  std::string_view next_decompressed();

  std::size_t block_bytes_;
  std::string name_;
  MappedFile file_;
  std::size_t given_ = 0, at_ = 0;  // the last block is in between
  bool first_ = true;               // the next block is
  std::unique_ptr<Gzip> gzip_;      // null for a plain file
};

}  // namespace attend::text
