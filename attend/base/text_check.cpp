#include "attend/base/text_check.h"

#include <algorithm>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/unicode/unicode.h"

namespace attend {

namespace {

constexpr const char* kImage = "give a text file, or choose a model that reads images";
constexpr const char* kPacked = "unpack it first";
constexpr const char* kOther = "give a text file in UTF-8";

struct Signature {
  std::string_view bytes;
  const char* what;
  const char* advice;
};

using std::string_view_literals::operator""sv;  // NOLINT(misc-unused-using-decls): the literals below

// No text in any encoding begins with these.
constexpr Signature kSignatures[] = {
    {"\x89PNG"sv, "a PNG image", kImage},
    {"\xff\xd8\xff"sv, "a JPEG image", kImage},
    {"II*\0"sv, "a TIFF image", kImage},
    {"MM\0*"sv, "a TIFF image", kImage},
    {"\x1f\x8b"sv, "a gzip file", kPacked},
    {"PK\x03\x04"sv, "a zip file (or a document that is one)", kPacked},
    {"\xfd"
     "7zXZ\0"sv,
     "an xz file", kPacked},
    {"\x28\xb5\x2f\xfd"sv, "a zstd file", kPacked},
    {"7z\xbc\xaf\x27\x1c"sv, "a 7z file", kPacked},
    {"\x7f"
     "ELF"sv,
     "a program", kOther},
    {"\xff\xfe\0\0"sv, "UTF-32 text", "convert it: iconv -f UTF-32 -t UTF-8"},
    {"\xff\xfe"sv, "UTF-16 text", "convert it: iconv -f UTF-16 -t UTF-8"},
    {"\xfe\xff"sv, "UTF-16 text", "convert it: iconv -f UTF-16 -t UTF-8"},
};

constexpr std::size_t kTarMark = 257;  // where a tar archive has the name of its format

// A text may begin with these words, so there must be bytes that are no text, too.
constexpr std::pair<std::string_view, const char*> kWords[] = {
    {"GIF8", "a GIF image"},
    {"RIFF", "a WebP image or a sound"},
    {"BM", "a BMP image"},
    {"%PDF-", "a PDF file"},
    {"BZh", "a bzip2 file"},
    {"PAR1", "a Parquet file"},
    {"OggS", "a sound"},
    {"ID3", "a sound"},
    {"SQLite format 3", "an SQLite file"},
};

}  // namespace

void TextCheck::add(std::string_view piece) {
  if (done()) return;
  if (seen_ == 0) {
    for (const auto& [bytes, what, advice] : kSignatures)
      if (piece.starts_with(bytes)) fail("{}: this is {}, not text in UTF-8; {}", name_, what, advice);
    if (piece.size() > kTarMark && piece.substr(kTarMark).starts_with("ustar"))
      fail("{}: this is a tar archive, not text in UTF-8; {}", name_, kPacked);
    for (const auto& [bytes, what] : kWords)
      if (piece.starts_with(bytes)) maybe_ = what;
  }
  piece = piece.substr(0, kBytes - seen_);
  seen_ += piece.size();
  zeros_ += static_cast<std::size_t>(std::ranges::count(piece, '\0'));
  const auto invalid = find_invalid_utf8(piece);
  invalid_ = invalid_ || (invalid && *invalid + 4 <= piece.size());  // a letter may be cut at the end
  if (invalid_ && (zeros_ > 0 || maybe_))
    fail("{}: this is {}, not text; {}", name_, maybe_ ? maybe_ : "a binary file", kOther);
  if (zeros_ >= 4 && zeros_ * 8 >= seen_)  // numbers, or UTF-16 without a mark
    fail("{}: this is a binary file, not text: {} of its first {} bytes are 0; {}", name_, zeros_, seen_, kOther);
}

void check_is_text(std::string_view text, const std::string& name) { TextCheck(name).add(text); }

}  // namespace attend
