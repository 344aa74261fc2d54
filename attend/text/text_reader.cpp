#include "attend/text/text_reader.h"

#ifndef ATTEND_WITHOUT_ZLIB
#include <zlib.h>
#endif

#include <algorithm>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/unicode.h"

namespace attend {

#ifdef ATTEND_WITHOUT_ZLIB

struct TextReader::Gzip {
  Gzip(const std::filesystem::path& path, std::string_view) {
    fail("{}: is compressed, and this build has no zlib", path.string());
  }
  std::string text;
  std::size_t done = 0;
  bool read(std::size_t) { return false; }
};

#else

// The bytes of the mapped file, inflated. Files may hold several gzip members one after the other.
struct TextReader::Gzip {
  Gzip(const std::filesystem::path& path, std::string_view compressed) : name(path.string()), rest(compressed) {
    check(inflateInit2(&stream, 16 + MAX_WBITS) == Z_OK, "{}: cannot start zlib", name);
  }
  ~Gzip() { inflateEnd(&stream); }
  Gzip(const Gzip&) = delete;

  // Appends up to `bytes` more to text; false at the end of the file.
  bool read(std::size_t bytes) {
    const std::size_t before = text.size();
    text.resize(before + bytes);
    std::size_t made = 0;
    while (made < bytes && !(rest.empty() && ended)) {
      if (ended) {  // the next member
        inflateReset(&stream);
        ended = false;
      }
      constexpr std::size_t kPiece = std::size_t{1} << 30;  // zlib counts in 32 bits
      const std::size_t in = std::min(rest.size(), kPiece), out = std::min(bytes - made, kPiece);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest.data()));
      stream.avail_in = static_cast<uInt>(in);
      stream.next_out = reinterpret_cast<Bytef*>(text.data() + before + made);
      stream.avail_out = static_cast<uInt>(out);
      const int code = inflate(&stream, Z_NO_FLUSH);
      const bool stuck = code == Z_BUF_ERROR && stream.avail_in == 0;
      check(code == Z_OK || code == Z_STREAM_END || stuck, "{}: the gzip data is damaged", name);
      check(!stuck, "{}: the gzip data ends too early", name);
      ended = code == Z_STREAM_END;
      rest.remove_prefix(in - stream.avail_in);
      made += out - stream.avail_out;
    }
    text.resize(before + made);
    return made > 0;
  }

  std::string name;
  std::string_view rest;
  z_stream stream = {};
  bool ended = false;
  std::string text;      // inflated
  std::size_t done = 0;  // of which handed out
};

#endif

TextReader::TextReader(const std::filesystem::path& path, std::size_t block_bytes)
    : block_bytes_(std::max<std::size_t>(block_bytes, 1)), file_(path) {
  if (file_.text().starts_with("\x1f\x8b")) gzip_ = std::make_unique<Gzip>(path, file_.text());
}

TextReader::~TextReader() = default;
TextReader::TextReader(TextReader&&) noexcept = default;

std::string_view TextReader::next_block() {
  const std::string_view block = gzip_ ? next_decompressed() : next_mapped();
  if (!first_) return block;
  first_ = false;
  const std::string_view text = without_mark(block);
  return text.empty() && !block.empty() ? next_block() : text;  // a mark alone is not the end
}

std::string_view TextReader::next_mapped() {
  const std::string_view rest = file_.text().substr(at_);
  std::size_t end = rest.size();
  if (rest.size() > block_bytes_) {
    end = rest.rfind('\n', block_bytes_ - 1);
    if (end == rest.npos) end = rest.find('\n', block_bytes_);
    end = end == rest.npos ? rest.size() : end + 1;
  }
  at_ += end;
  return rest.substr(0, end);
}

std::string_view TextReader::next_decompressed() {
  std::string& text = gzip_->text;
  text.erase(0, gzip_->done);
  gzip_->done = 0;
  while (gzip_->read(block_bytes_)) {
    const std::size_t end = text.rfind('\n');
    if (end == text.npos) continue;  // not one whole line yet
    gzip_->done = end + 1;
    return std::string_view(text).substr(0, end + 1);
  }
  gzip_->done = text.size();
  return text;
}

}  // namespace attend
