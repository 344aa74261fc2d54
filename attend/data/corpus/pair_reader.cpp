#include "attend/data/corpus/pair_reader.h"

#include <system_error>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/limits.h"
#include "attend/base/progress.h"
#include "attend/base/unicode/unicode.h"

namespace attend::data {

namespace {

constexpr std::size_t kBlockBytes = std::size_t{4} << 20;  // of each side, in memory at a time

constexpr std::int64_t kMostInvalid = 20;  // one line in so many; half of the lines of French are no ASCII

void see(InvalidLines& invalid, std::string_view line, std::int64_t number) {
  if (!find_invalid_utf8(line)) return;
  if (invalid.count++ == 0) invalid.first = number;
}

void check_encoding(const InvalidLines& invalid, const std::filesystem::path& file, std::int64_t lines) {
  check(invalid.count * kMostInvalid <= lines,
        "'{}' is not UTF-8 text: {} of its {} lines, the first is line {}; convert it, for instance with iconv -f "
        "ISO-8859-1 -t UTF-8",
        file.string(), with_commas(invalid.count), with_commas(lines), with_commas(invalid.first));
}

void check_two_files(const PairFiles& files) {
  std::error_code ignored;  // both have been opened
  check(!std::filesystem::equivalent(files.source, files.target, ignored),
        "'{}' is given as source and as target; the target is the file of its translations", files.source.string());
}

}  // namespace

CorpusLines::CorpusLines(const std::filesystem::path& path) : reader_(path, kBlockBytes), name_(path.string()) {}

bool CorpusLines::next(std::string_view& line) {
  if (block_.empty()) block_ = reader_.next_block();
  if (block_.empty()) return false;
  ++line_;
  const std::size_t feed = block_.find('\n');
  line = block_.substr(0, feed);
  block_.remove_prefix(feed == block_.npos ? block_.size() : feed + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  check(line.size() <= limits::kLongestLine,
        "'{}', line {}: {} bytes in one line, more than {}; parallel text has one sentence per line", name_, line_,
        line.size(), limits::kLongestLine);
  return true;
}

PairReader::PairReader(PairFiles files) : files_(std::move(files)), source_(files_.source), target_(files_.target) {}

bool PairReader::next(PairView& pair) {
  const bool source = source_.next(pair.source), target = target_.next(pair.target);
  const auto& shorter = source ? files_.target : files_.source;
  check((source && target) || count_ > 0, "'{}' is empty; it needs one sentence per line", shorter.string());
  if (count_ == 0) check_two_files(files_);  // after the first lines: what is no text has an error of its own
  check(source == target,
        "'{}' ends after {} lines, but '{}' has more; line n of one must be the translation of line n of the other",
        shorter.string(), count_, (source ? files_.source : files_.target).string());
  if (source) {
    ++count_;
    see(invalid_source_, pair.source, count_);
    see(invalid_target_, pair.target, count_);
  } else {
    check_encoding(invalid_source_, files_.source, count_);
    check_encoding(invalid_target_, files_.target, count_);
  }
  return source;
}

void check_pairs(const PairFiles& files) {
  PairReader reader(files);
  for (PairView pair; reader.next(pair);) continue;
}

}  // namespace attend::data
