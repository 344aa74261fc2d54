// Builds a parallel cache: lines are read block by block, encoded by all threads, and written group by group.
#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/hashing.h"
#include "attend/base/thread_pool.h"
#include "attend/base/unicode/unicode.h"
#include "attend/data/text/cache_format.h"
#include "attend/text/text_reader.h"
#include "attend/text/tokenizer.h"

namespace attend::data {

namespace {

constexpr std::size_t kBlockBytes = std::size_t{4} << 20;  // of text per side, in memory at a time
constexpr std::int64_t kLinesAtOnce = 256;                 // what a thread takes

std::string_view as_text(const void* data, std::size_t bytes) { return {static_cast<const char*>(data), bytes}; }

// The bytes a text has, as far as its file tells: gzip files end with the size of their last member.
std::uint64_t text_bytes(const std::filesystem::path& path) {
  const MappedFile file(path);
  const std::string_view bytes = file.text();
  if (!bytes.starts_with("\x1f\x8b") || bytes.size() < 18) return bytes.size();
  std::uint32_t size;
  std::memcpy(&size, bytes.data() + bytes.size() - sizeof size, sizeof size);
  return std::max<std::uint64_t>(size, bytes.size());
}

// A text file as lines without their ends.
class Lines {
 public:
  explicit Lines(const std::filesystem::path& path) : reader_(path, kBlockBytes) {}

  // What is left of the current block, or the next one; empty at the end. Views are valid until the next call that
  // finds nothing left.
  std::span<const std::string_view> get() {
    if (next_ == lines_.size()) read_block();
    return std::span(lines_).subspan(next_);
  }
  void drop(std::size_t lines) { next_ += lines, count_ += lines; }

  std::uint64_t count() const { return count_; }  // dropped so far
  std::uint64_t bytes() const { return bytes_; }  // read so far

 private:
  void read_block() {
    lines_.clear();
    next_ = 0;
    std::string_view block = reader_.next_block();
    bytes_ += block.size();
    while (!block.empty()) {
      const std::size_t feed = block.find('\n');
      std::string_view line = block.substr(0, feed);
      block.remove_prefix(feed == block.npos ? block.size() : feed + 1);
      if (line.ends_with('\r')) line.remove_suffix(1);
      lines_.push_back(line);
    }
  }

  text::TextReader reader_;
  std::vector<std::string_view> lines_;
  std::size_t next_ = 0;
  std::uint64_t count_ = 0, bytes_ = 0;
};

// Some lines, encoded.
struct Piece {
  std::vector<text::TokenId> ids;      // source, target, source, ...
  std::vector<std::uint64_t> lengths;  // likewise
  Report report = {};
};

class Encoder {
 public:
  Encoder(const text::Tokenizer& source, const text::Tokenizer& target, std::int64_t max_length)
      : source_(source),
        target_(target),
        longest_(max_length > 0 ? static_cast<std::size_t>(max_length) : std::numeric_limits<std::size_t>::max()) {}

  void add(std::string_view source, std::string_view target, Piece& piece) const {
    Report& report = piece.report;
    ++report.lines;
    if (find_invalid_utf8(source) || find_invalid_utf8(target)) return void(++report.invalid_utf8);
    source = without_outer_space(source), target = without_outer_space(target);
    if (source.empty() || target.empty()) return void(++report.empty);
    const std::vector<text::TokenId> from = source_.encode_ids(source, {.add_special_tokens = false});
    if (from.size() > longest_) return void(++report.too_long);
    const std::vector<text::TokenId> to = target_.encode_ids(target, {.add_special_tokens = false});
    if (to.size() > longest_) return void(++report.too_long);
    if (from.empty() || to.empty()) return void(++report.empty);  // a normalizer may leave nothing
    ++report.pairs;
    for (const auto* ids : {&from, &to}) {
      piece.ids.insert(piece.ids.end(), ids->begin(), ids->end());
      piece.lengths.push_back(ids->size());
    }
    report.source_tokens += from.size(), report.target_tokens += to.size();
    report.source_longest = std::max<std::uint64_t>(report.source_longest, from.size());
    report.target_longest = std::max<std::uint64_t>(report.target_longest, to.size());
  }

 private:
  const text::Tokenizer &source_, &target_;
  std::size_t longest_;
};

void add_to(Report& sum, const Report& part) {
  sum.lines += part.lines, sum.pairs += part.pairs;
  sum.empty += part.empty, sum.invalid_utf8 += part.invalid_utf8, sum.too_long += part.too_long;
  sum.source_tokens += part.source_tokens, sum.target_tokens += part.target_tokens;
  sum.source_longest = std::max(sum.source_longest, part.source_longest);
  sum.target_longest = std::max(sum.target_longest, part.target_longest);
}

// Appends pairs to the file.
class GroupWriter {
 public:
  GroupWriter(const FileWriter& write, std::size_t id_bytes) : write_(write), id_bytes_(id_bytes) {
    write_(as_text(&kMagic, sizeof kMagic));
  }

  void add(const Piece& piece) {
    const text::TokenId* ids = piece.ids.data();
    for (std::size_t i = 0; i < piece.lengths.size(); i += 2) {
      const std::uint64_t source = piece.lengths[i], target = piece.lengths[i + 1];
      bounds_.push_back(bounds_.back() + source);
      bounds_.push_back(bounds_.back() + target);
      append(ids, source + target);
      ids += source + target;
      if (bounds_.size() == 2 * kGroupPairs + 1) flush();
    }
  }

  void finish(Trailer& trailer) {
    if (bounds_.size() > 1) flush();
    trailer.groups = directory_.size();
    trailer.directory_at = at_;
    const std::string_view directory = as_text(directory_.data(), directory_.size() * sizeof(GroupEntry));
    trailer.directory_hash = hash_text(directory);
    trailer.hash = hash_text(bytes_before_hash(trailer));
    write_(directory);
    write_(as_text(&trailer, sizeof trailer));
  }

 private:
  void append(const text::TokenId* ids, std::size_t count) {
    const std::size_t before = ids_.size();
    ids_.resize(before + count * id_bytes_);
    if (id_bytes_ == sizeof(text::TokenId)) {
      std::memcpy(ids_.data() + before, ids, count * id_bytes_);
      return;
    }
    for (std::size_t i = 0; i < count; ++i) {
      const auto id = static_cast<std::uint16_t>(ids[i]);
      std::memcpy(ids_.data() + before + i * sizeof id, &id, sizeof id);
    }
  }

  void flush() {
    group_.assign(as_text(bounds_.data(), bounds_.size() * sizeof bounds_[0]));
    group_.append(ids_);
    group_.resize((group_.size() + 7) / 8 * 8, '\0');
    directory_.push_back({.at = at_, .hash = hash_text(group_)});
    at_ += group_.size();
    write_(group_);
    bounds_.assign(1, 0);
    ids_.clear();
  }

  const FileWriter& write_;
  std::size_t id_bytes_;
  std::uint64_t at_ = sizeof kMagic;
  std::vector<std::uint64_t> bounds_{0};
  std::string ids_, group_;
  std::vector<GroupEntry> directory_;  // 16 bytes for 4096 pairs
};

std::uint64_t count_rest(Lines& lines) {
  for (std::size_t left; (left = lines.get().size()) > 0;) lines.drop(left);
  return lines.count();
}

}  // namespace

Report build_parallel_cache(const ParallelFiles& files, const ParallelOptions& options,
                            const Fingerprint& fingerprint) {
  const text::Tokenizer tokenizer = text::Tokenizer::load(files.tokenizer);
  const text::Tokenizer target_tokenizer = text::Tokenizer::load_target(files.tokenizer);
  const Encoder encoder(tokenizer, target_tokenizer, options.max_length);
  ThreadPool pool(options.threads);
  Trailer trailer{.fingerprint = fingerprint,
                  .id_bytes = tokenizer.id_limit() <= 65536 ? 2u : 4u,
                  .id_limit = static_cast<std::uint64_t>(tokenizer.id_limit())};
  const std::uint64_t total = text_bytes(files.source) + text_bytes(files.target);

  write_file(files.cache, [&](const FileWriter& write) {
    GroupWriter writer(write, trailer.id_bytes);
    Lines sources(files.source), targets(files.target);
    std::vector<Piece> pieces;
    while (true) {
      // The blocks of the two files do not end at the same line: take what both have, then refill the one that is
      // empty.
      const auto source = sources.get(), target = targets.get();
      const auto lines = static_cast<std::int64_t>(std::min(source.size(), target.size()));
      if (lines == 0) break;
      pieces.assign(static_cast<std::size_t>((lines + kLinesAtOnce - 1) / kLinesAtOnce), {});
      pool.for_range(lines, kLinesAtOnce, [&](std::int64_t begin, std::int64_t end) {
        Piece& piece = pieces[static_cast<std::size_t>(begin / kLinesAtOnce)];
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
          encoder.add(source[i], target[i], piece);
      });
      for (const Piece& piece : pieces) {
        writer.add(piece);
        add_to(trailer.report, piece.report);
      }
      sources.drop(static_cast<std::size_t>(lines));
      targets.drop(static_cast<std::size_t>(lines));
      if (options.on_progress) options.on_progress(std::min(sources.bytes() + targets.bytes(), total), total);
    }
    const std::uint64_t source_lines = count_rest(sources), target_lines = count_rest(targets);
    check(source_lines == target_lines,
          "'{}' has {} lines, but '{}' has {}: line i of one must translate line i of the other", files.source.string(),
          source_lines, files.target.string(), target_lines);
    writer.finish(trailer);
    if (options.on_progress) options.on_progress(total, total);
  });
  return trailer.report;
}

}  // namespace attend::data
