#include "attend/data/text/parallel_cache.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/hashing.h"
#include "attend/base/progress.h"
#include "attend/base/thread_pool.h"
#include "attend/data/text/cache_format.h"

namespace attend::data {

namespace fs = std::filesystem;

namespace {

bool fits(const Fingerprint& stored, const Fingerprint& now, const ParallelFiles& files) {
  return stored.format == now.format && stored.tokenizer == now.tokenizer && stored.max_length == now.max_length &&
         is_same_file(stored.source, files.source) && is_same_file(stored.target, files.target);
}

// What decides the tokens of a folder; of Marian its vocabulary.
fs::path tokenizer_file(const fs::path& path) {
  if (!fs::is_directory(path)) return path;
  return fs::exists(path / "tokenizer.json") || !fs::exists(path / "vocab.json") ? path / "tokenizer.json"
                                                                                 : path / "vocab.json";
}

template <class Stored>
std::uint64_t largest_id(std::string_view bytes) {
  Stored largest = 0;
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(Stored)) {
    Stored id;
    std::memcpy(&id, bytes.data() + at, sizeof id);
    largest = std::max(largest, id);
  }
  return largest;
}

std::uint64_t read_word(std::string_view bytes, std::uint64_t index) {
  std::uint64_t word;
  std::memcpy(&word, bytes.data() + index * sizeof word, sizeof word);
  return word;
}

// What the bounds of one group say; nullopt if they are impossible or the ids are.
std::optional<Report> look_through(std::string_view group, std::uint64_t pairs, const Trailer& trailer) {
  const std::uint64_t table = (2 * pairs + 1) * sizeof(std::uint64_t);
  if (group.size() < table || read_word(group, 0) != 0) return std::nullopt;
  const std::uint64_t most = (group.size() - table) / trailer.id_bytes;
  Report sum;
  std::uint64_t last = 0;
  const auto next_length = [&](std::uint64_t index) -> std::uint64_t {  // 0: impossible, for no sentence is empty
    const std::uint64_t bound = read_word(group, index);
    return bound > most || bound <= last ? 0 : bound - std::exchange(last, bound);
  };
  for (std::uint64_t i = 0; i < pairs; ++i) {
    const std::uint64_t source = next_length(2 * i + 1), target = source > 0 ? next_length(2 * i + 2) : 0;
    if (target == 0) return std::nullopt;
    sum.source_tokens += source, sum.target_tokens += target;
    sum.source_longest = std::max(sum.source_longest, source);
    sum.target_longest = std::max(sum.target_longest, target);
  }
  const std::uint64_t id_bytes = last * trailer.id_bytes;
  if (table + (id_bytes + 7) / 8 * 8 != group.size()) return std::nullopt;
  const std::string_view ids = group.substr(table, id_bytes);
  const std::uint64_t largest = trailer.id_bytes == 2 ? largest_id<std::uint16_t>(ids) : largest_id<std::uint32_t>(ids);
  return largest < trailer.id_limit ? std::optional(sum) : std::nullopt;
}

// Everything later reads rely on: after this, no index that the file holds leads out of it.
Trailer checked_trailer(std::string_view file, const std::string& name, ThreadPool& pool) {
  const auto need = [&](bool ok) { check(ok, "'{}' is not a whole parallel cache", name); };
  Trailer trailer;
  need(file.size() >= sizeof kMagic + sizeof trailer && read_word(file, 0) == kMagic);
  const std::uint64_t rest = file.size() - sizeof trailer;  // what is before the trailer
  std::memcpy(&trailer, file.data() + rest, sizeof trailer);
  need(trailer.hash == hash_text(bytes_before_hash(trailer)));
  need(trailer.fingerprint.format == kFormat);
  const Report& report = trailer.report;
  need(trailer.id_bytes == 2 || trailer.id_bytes == 4);
  need(trailer.id_limit <= static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max()));
  need(report.pairs <= rest && trailer.groups == (report.pairs + kGroupPairs - 1) / kGroupPairs);
  need(trailer.directory_at % 8 == 0 && trailer.directory_at >= sizeof kMagic && trailer.directory_at <= rest &&
       rest - trailer.directory_at == trailer.groups * sizeof(GroupEntry));
  const std::string_view directory = file.substr(trailer.directory_at, rest - trailer.directory_at);
  need(trailer.directory_hash == hash_text(directory));

  const std::uint64_t groups = trailer.groups;
  std::vector<Report> parts(groups);
  pool.for_each(static_cast<std::int64_t>(groups), [&](std::int64_t number) {
    const auto g = static_cast<std::uint64_t>(number);
    const std::uint64_t at = read_word(directory, 2 * g);
    const std::uint64_t end = g + 1 < groups ? read_word(directory, 2 * g + 2) : trailer.directory_at;
    need(at % 8 == 0 && at >= sizeof kMagic && at < end && end <= trailer.directory_at);
    const std::string_view group = file.substr(at, end - at);
    need(read_word(directory, 2 * g + 1) == hash_text(group));
    const auto part = look_through(group, std::min(kGroupPairs, report.pairs - g * kGroupPairs), trailer);
    need(part.has_value());
    parts[g] = *part;
  });
  Report sum{.lines = report.lines,
             .pairs = report.pairs,
             .empty = report.empty,
             .invalid_utf8 = report.invalid_utf8,
             .too_long = report.too_long};
  for (const Report& part : parts) {
    sum.source_tokens += part.source_tokens, sum.target_tokens += part.target_tokens;
    sum.source_longest = std::max(sum.source_longest, part.source_longest);
    sum.target_longest = std::max(sum.target_longest, part.target_longest);
  }
  need(sum == report);
  return trailer;
}

}  // namespace

std::string to_text(const Report& report) {
  const auto commas = [](std::uint64_t count) { return with_commas(static_cast<std::int64_t>(count)); };
  std::string text = fmt::format("{} lines: {} pairs", commas(report.lines), commas(report.pairs));
  const auto add = [&](std::uint64_t count, std::string_view what) {
    if (count > 0) text += fmt::format(", {} {}", commas(count), what);
  };
  add(report.empty, "empty");
  add(report.invalid_utf8, "not UTF-8");
  add(report.too_long, "too long");
  return text;
}

// Opens a cache and keeps its trailer for comparison.
struct CacheFile {
  ParallelCorpus corpus;
  Trailer trailer;

  static CacheFile open(const fs::path& path, int threads) {
    ThreadPool pool(threads);
    ParallelCorpus corpus{MappedFile(path)};
    const Trailer trailer = checked_trailer(corpus.file_.text(), path.string(), pool);
    corpus.report_ = trailer.report;
    corpus.directory_ = corpus.file_.bytes().data() + trailer.directory_at;
    corpus.id_bytes_ = trailer.id_bytes;
    corpus.id_limit_ = static_cast<std::int32_t>(trailer.id_limit);
    return {std::move(corpus), trailer};
  }

  // Nothing if there is no such cache, or a damaged one, or one of something else.
  static std::optional<CacheFile> reuse(const ParallelFiles& files, const Fingerprint& now, int threads) {
    std::error_code error;
    if (!fs::is_regular_file(files.cache, error)) return std::nullopt;
    try {
      CacheFile cache = open(files.cache, threads);
      if (fits(cache.trailer.fingerprint, now, files)) return cache;
    } catch (const Error&) {  // damaged; if the trouble is another one, building will meet it again
    }
    return std::nullopt;
  }

  static void set_built(ParallelCorpus& corpus) { corpus.built_ = true; }
};

ParallelCorpus ParallelCorpus::open(const fs::path& cache, int threads) {
  return std::move(CacheFile::open(cache, threads).corpus);
}

ParallelCorpus ParallelCorpus::open_or_build(const ParallelFiles& files, const ParallelOptions& options) {
  check(options.max_length >= 0, "parallel cache: max_length is {}, so it must be 0 or more", options.max_length);
  Fingerprint now{.tokenizer = hash_of_file(tokenizer_file(files.tokenizer)),
                  .max_length = static_cast<std::uint64_t>(options.max_length),
                  .source = mark_of(files.source),
                  .target = mark_of(files.target)};
  if (auto cache = CacheFile::reuse(files, now, options.threads)) return std::move(cache->corpus);
  now.source.hash = hash_of_file(files.source);
  now.target.hash = hash_of_file(files.target);
  ParallelFiles target = files;
  if (!files.rebuilt.empty()) target.cache = files.rebuilt;
  build_parallel_cache(target, options, now);
  ParallelCorpus corpus = open(target.cache, options.threads);
  CacheFile::set_built(corpus);
  return corpus;
}

const std::byte* ParallelCorpus::group_of(std::int64_t pair) const {
  check(pair >= 0 && pair < pairs(), "parallel corpus: there is no pair {} among {}", pair, pairs());
  std::uint64_t at;
  std::memcpy(&at, directory_ + static_cast<std::uint64_t>(pair) / kGroupPairs * sizeof(GroupEntry), sizeof at);
  check_whole();
  return file_.bytes().data() + at;
}

ParallelCorpus::Lengths ParallelCorpus::lengths(std::int64_t pair) const {
  std::uint64_t bounds[3];
  std::memcpy(bounds, group_of(pair) + static_cast<std::uint64_t>(pair) % kGroupPairs * 16, sizeof bounds);
  check_whole();
  return {.source = static_cast<std::int64_t>(bounds[1] - bounds[0]),
          .target = static_cast<std::int64_t>(bounds[2] - bounds[1])};
}

IdView ParallelCorpus::view(std::int64_t pair, int side) const {
  const std::byte* group = group_of(pair);
  const std::uint64_t in_group = static_cast<std::uint64_t>(pair) % kGroupPairs;
  const std::uint64_t pairs = std::min(kGroupPairs, report_.pairs - (static_cast<std::uint64_t>(pair) - in_group));
  std::uint64_t bounds[2];
  std::memcpy(bounds, group + in_group * 16 + side * 8, sizeof bounds);
  check_whole();
  return IdView(group + (2 * pairs + 1) * 8 + bounds[0] * id_bytes_, bounds[1] - bounds[0], id_bytes_);
}

}  // namespace attend::data
