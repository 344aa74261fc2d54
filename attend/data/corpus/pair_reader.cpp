#include "attend/data/corpus/pair_reader.h"

#include <system_error>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/limits.h"

namespace attend::data {

namespace {

constexpr std::size_t kBlockBytes = std::size_t{4} << 20;  // of each side, in memory at a time

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

PairReader::PairReader(PairFiles files) : files_(std::move(files)), source_(files_.source), target_(files_.target) {
  std::error_code ignored;  // both have been opened
  check(!std::filesystem::equivalent(files_.source, files_.target, ignored),
        "'{}' is given as source and as target; the target is the file of its translations", files_.source.string());
}

bool PairReader::next(PairView& pair) {
  const bool source = source_.next(pair.source), target = target_.next(pair.target);
  if (source != target)
    fail("'{}' ends after {} lines, but '{}' has more; line n of one must be the translation of line n of the other",
         (source ? files_.target : files_.source).string(), count_, (source ? files_.source : files_.target).string());
  check(source || count_ > 0, "'{}' and '{}' are empty; they need one sentence per line", files_.source.string(),
        files_.target.string());
  if (source) ++count_;
  return source;
}

}  // namespace attend::data
