#include "attend/text/gzip.h"

#ifndef ATTEND_WITHOUT_ZLIB
#include <zlib.h>
#endif

#include <algorithm>
#include <utility>

#include "attend/base/error.h"

namespace attend::text {

bool is_gzip(std::string_view file) { return file.starts_with("\x1f\x8b"); }

#ifdef ATTEND_WITHOUT_ZLIB

struct GzipReader::State {};

GzipReader::GzipReader(std::string name, std::string_view) {
  fail("{}: is compressed, and this build has no zlib", name);
}

bool GzipReader::read(std::size_t, std::string&) { return false; }

#else

// Files may hold several gzip members one after the other.
struct GzipReader::State {
  State(std::string name, std::string_view compressed) : name(std::move(name)), rest(compressed) {
    check(inflateInit2(&stream, 16 + MAX_WBITS) == Z_OK, "{}: cannot start zlib", this->name);
  }
  ~State() { inflateEnd(&stream); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  std::string name;
  std::string_view rest;
  z_stream stream = {};
  bool ended = false;  // the member
};

GzipReader::GzipReader(std::string name, std::string_view compressed)
    : state_(std::make_unique<State>(std::move(name), compressed)) {}

bool GzipReader::read(std::size_t bytes, std::string& text) {
  State& s = *state_;
  const std::size_t before = text.size();
  text.resize(before + bytes);
  std::size_t made = 0;
  while (made < bytes && !(s.rest.empty() && s.ended)) {
    if (s.ended) {  // the next member
      inflateReset(&s.stream);
      s.ended = false;
    }
    constexpr std::size_t kPiece = std::size_t{1} << 30;  // zlib counts in 32 bits
    const std::size_t in = std::min(s.rest.size(), kPiece), out = std::min(bytes - made, kPiece);
    s.stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(s.rest.data()));
    s.stream.avail_in = static_cast<uInt>(in);
    s.stream.next_out = reinterpret_cast<Bytef*>(text.data() + before + made);
    s.stream.avail_out = static_cast<uInt>(out);
    const int code = inflate(&s.stream, Z_NO_FLUSH);
    const bool stuck = code == Z_BUF_ERROR && s.stream.avail_in == 0;
    check(code == Z_OK || code == Z_STREAM_END || stuck, "{}: the gzip data is damaged", s.name);
    check(!stuck, "{}: the gzip data ends too early", s.name);
    s.ended = code == Z_STREAM_END;
    s.rest.remove_prefix(in - s.stream.avail_in);
    made += out - s.stream.avail_out;
  }
  text.resize(before + made);
  return made > 0;
}

#endif

GzipReader::~GzipReader() = default;

}  // namespace attend::text
