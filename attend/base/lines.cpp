#include "attend/base/lines.h"

#include <algorithm>
#include <istream>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/unicode/unicode.h"

namespace attend {

namespace {

constexpr std::size_t kPiece = 1 << 14;

}  // namespace

LineReader::LineReader(std::istream& in, LineOptions options)
    : in_(in), options_(std::move(options)), check_(options_.name), piece_(kPiece) {}

// In pieces: getline() of a stream into memory of a fixed size stops when that is full, with failbit alone.
bool LineReader::next(std::string& line) {
  line.clear();
  while (true) {
    in_.getline(piece_.data(), static_cast<std::streamsize>(piece_.size()));
    const auto got = static_cast<std::size_t>(in_.gcount());
    const bool full = in_.fail() && !in_.eof() && !in_.bad() && got + 1 == piece_.size();
    const bool ended = !in_.fail() && !in_.eof();  // by a line feed, which is counted
    const std::string_view piece(piece_.data(), got - (ended ? 1 : 0));
    if (!check_.done()) check_.add(piece);
    line.append(piece);
    if (line.size() > options_.longest)
      fail("{}, line {}: longer than {} bytes; --max-line raises the limit", options_.name, number_ + 1,
           options_.longest);
    if (full) {
      in_.clear();
      continue;
    }
    check(!in_.bad(), "cannot read {}", options_.name);
    if (number_ == 0) line.erase(0, line.size() - without_mark(line).size());
    if (!ended && line.empty()) return false;
    break;
  }
  ++number_;
  if (!options_.keeps_returns && line.ends_with('\r')) line.pop_back();
  return true;
}

std::string read_text(std::istream& in, std::string_view name, std::size_t most) {
  std::string text;
  std::vector<char> piece(kPiece);
  while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())) || in.gcount() > 0) {
    text.append(piece.data(), static_cast<std::size_t>(in.gcount()));
    check(text.size() <= most, "{}: more than {} bytes", name, most);
  }
  check(!in.bad(), "cannot read {}", name);
  check_is_text(text, std::string(name));
  text.erase(0, text.size() - without_mark(text).size());
  return text;
}

std::string read_text(const std::filesystem::path& path) {
  std::string text = read_file(path);
  check_is_text(text, path.string());
  text.erase(0, text.size() - without_mark(text).size());
  return text;
}

}  // namespace attend
