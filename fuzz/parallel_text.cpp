// Two texts, line by line, plain or gzip: a cache of pairs is made of them and read, or they are refused.
#include "attend/data/text/parallel_cache.h"
#include "attend/text/text_reader.h"
#include "fuzz/shared/small_tokenizer.h"
#include "fuzz/shared/target.h"

namespace attend::fuzz {

const Target kTarget = {.file = "source",
                        .schema = R"({"@words": ["\n", "\r\n", "a", " ", "\ufeff", "ab\n", "\u3000\n"]})"};

namespace {

// Blocks are whole lines, and together the text.
void read_blocks(const std::filesystem::path& path, std::size_t bytes) {
  std::string all;
  text::TextReader reader(path, bytes);
  for (std::string_view block = reader.next_block(); !block.empty(); block = reader.next_block()) {
    must(all.empty() || all.ends_with('\n'), "a block begins with a line");
    all += block;
    if (all.size() > (1 << 20)) return;  // a gzip file may hold a thousand times its size
  }
}

}  // namespace

void enter(const Input& input) {
  const auto source = write("source", input["source"]);
  const auto target = write("target", input.has("target") ? input["target"] : input["source"]);
  for (const std::size_t bytes : {1, 7, 64})
    for (const auto& path : {source, target}) attempt([&] { read_blocks(path, bytes); });
  remove("pairs");
  const data::ParallelFiles files{source, target, write("tokenizer.json", kSmallTokenizer), folder() / "pairs"};
  for (const std::int64_t longest : {0, 3}) {
    std::uint64_t reported = 0;
    const data::ParallelOptions options{
        .max_length = longest, .threads = 1, .on_progress = [&](std::uint64_t done, std::uint64_t total) {
          must(done >= reported && done <= total, "progress goes forward");
          reported = done;
        }};
    const auto built = data::ParallelCorpus::open_or_build(files, options);
    const data::Report report = built.report();
    must(report.lines == report.pairs + report.empty + report.invalid_utf8 + report.too_long, "every line is counted");
    data::to_text(report);
    const auto again = data::ParallelCorpus::open_or_build(files, options);
    must(!again.built() && again.report() == report, "a cache that is there is used");
  }
}

}  // namespace attend::fuzz
