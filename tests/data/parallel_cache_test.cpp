// The cache of a parallel corpus: what comes out is what plain loops over the lines give, lines that cannot be used are
// counted, and it is made anew exactly when something changed.
#include "attend/data/text/parallel_cache.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "attend/base/files.h"
#include "attend/base/unicode/unicode.h"
#include "tests/data/corpus_files.h"

namespace attend::data {
namespace {

namespace fs = std::filesystem;
using test::CorpusTest, test::letter_ids, test::message_of;

class ParallelCache : public CorpusTest {};

TEST_F(ParallelCache, HoldsEveryPairInOrder) {
  test::Draw draw{3};
  std::vector<std::string> sources, targets;
  std::string source, target;
  std::uint64_t source_tokens = 0, target_tokens = 0;
  for (int i = 0; i < 9001; ++i) {  // three groups, the last one not full
    const auto [from, to] = test::random_lengths(draw);
    source += sources.emplace_back(test::random_line(draw, from)) + "\n";
    target += targets.emplace_back(test::random_line(draw, to)) + "\n";
    source_tokens += static_cast<std::uint64_t>(from), target_tokens += static_cast<std::uint64_t>(to);
  }
  const ParallelCorpus corpus = build(source, target);
  EXPECT_TRUE(corpus.built());
  ASSERT_EQ(corpus.pairs(), 9001);
  EXPECT_EQ(corpus.report().source_tokens, source_tokens);
  EXPECT_EQ(corpus.report().target_tokens, target_tokens);
  EXPECT_EQ(corpus.id_limit(), 27);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto pair = static_cast<std::int64_t>(i);
    ASSERT_EQ(corpus.source(pair).to_vector(), letter_ids(sources[i])) << i;
    ASSERT_EQ(corpus.target(pair).to_vector(), letter_ids(targets[i])) << i;
    ASSERT_EQ(corpus.lengths(pair).source, static_cast<std::int64_t>(sources[i].size()));
    ASSERT_EQ(corpus.lengths(pair).target, static_cast<std::int64_t>(targets[i].size()));
  }
  EXPECT_EQ(corpus.source(7)[0], letter_ids(sources[7])[0]);
  EXPECT_THROW(corpus.source(9001), Error);
  EXPECT_THROW(corpus.lengths(-1), Error);
}

TEST_F(ParallelCache, IsTheSameForAnyNumberOfThreads) {
  random_corpus(3000);
  const std::string two = read_file(files().cache);
  for (const int threads : {1, 5}) {
    fs::remove(files().cache);
    ParallelCorpus::open_or_build(files(), {.threads = threads});
    EXPECT_EQ(read_file(files().cache), two) << threads;
  }
}

TEST_F(ParallelCache, CountsWhatItLeavesOut) {
  const std::string source =
      "ab\n"
      "\n"
      "cd\n"
      " \t\n"
      "ef\n"
      "\xff\n"
      "gh\n"
      "abcdef\n"
      "a\n"
      "\xff\n"
      "last";
  const std::string target =
      "x\n"
      "y\n"
      "\n"
      "z\n"
      "a\xC0 b\n"
      "b\n"
      "uv\n"
      "b\n"
      "abcdef\n"
      "\n"
      "z";
  const ParallelCorpus corpus = build(source, target, {.max_length = 5});
  const Report& report = corpus.report();
  EXPECT_EQ(report.lines, 11u);
  EXPECT_EQ(report.pairs, 3u);
  EXPECT_EQ(report.empty, 3u);
  EXPECT_EQ(report.invalid_utf8, 3u);
  EXPECT_EQ(report.too_long, 2u);
  EXPECT_EQ(report.source_longest, 4u);
  EXPECT_EQ(report.target_longest, 2u);
  EXPECT_EQ(corpus.source(0).to_vector(), letter_ids("ab"));
  EXPECT_EQ(corpus.target(1).to_vector(), letter_ids("uv"));
  EXPECT_EQ(corpus.source(2).to_vector(), letter_ids("last"));
  EXPECT_EQ(to_text(report), "11 lines: 3 pairs, 3 empty, 3 not UTF-8, 2 too long");
  EXPECT_EQ(to_text({.lines = 1234567, .pairs = 1234567}), "1,234,567 lines: 1,234,567 pairs");
}

// As a translator reads lines: what it learns from must look the same.
TEST_F(ParallelCache, SpaceAroundALineIsLeftOut) {
  const ParallelCorpus corpus = build("ab \n c d\n\te\xc2\xa0\t\n", "x\t\n  y \nz\n");
  ASSERT_EQ(corpus.pairs(), 3);
  EXPECT_EQ(corpus.source(0).to_vector(), letter_ids("ab"));
  EXPECT_EQ(corpus.source(1).to_vector(), letter_ids("c d"));
  EXPECT_EQ(corpus.source(2).to_vector(), letter_ids("e"));
  EXPECT_EQ(corpus.target(0).to_vector(), letter_ids("x"));
  EXPECT_EQ(corpus.target(1).to_vector(), letter_ids("y"));
}

TEST_F(ParallelCache, TakesLineEndsOfAnySystemAndByteOrderMarks) {
  const ParallelCorpus corpus = build(
      "\xEF\xBB\xBF"
      "ab\r\nc d\r\n\r\nend\r",
      "x\ny\nq\nz\n");
  ASSERT_EQ(corpus.pairs(), 3);
  EXPECT_EQ(corpus.report().empty, 1u);
  EXPECT_EQ(corpus.source(0).to_vector(), letter_ids("ab"));
  EXPECT_EQ(corpus.source(1).to_vector(), letter_ids("c d"));
  EXPECT_EQ(corpus.source(2).to_vector(), letter_ids("end"));
}

TEST_F(ParallelCache, NamesBothCountsWhenTheFilesDoNotMatch) {
  write_texts("a\nb\nc\n", "a\nb\n");
  for (int swap = 0; swap < 2; ++swap) {
    ParallelFiles mixed = files();
    if (swap == 1) std::swap(mixed.source, mixed.target);
    const std::string message = message_of([&] { ParallelCorpus::open_or_build(mixed); });
    EXPECT_NE(message.find(mixed.source.string() + (swap == 0 ? "' has 3 lines" : "' has 2 lines")), message.npos)
        << message;
    EXPECT_NE(message.find(mixed.target.string() + (swap == 0 ? "' has 2" : "' has 3")), message.npos) << message;
  }
  EXPECT_FALSE(fs::exists(files().cache));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 3);  // no half-written file either
}

TEST_F(ParallelCache, AnEmptyCorpusIsOne) {
  EXPECT_EQ(build("", "").pairs(), 0);
  EXPECT_EQ(build("\n", "\n").report().empty, 1u);
  EXPECT_FALSE(ParallelCorpus::open_or_build(files()).built());
}

TEST_F(ParallelCache, ReadsGzip) {
#ifdef ATTEND_WITHOUT_ZLIB
  GTEST_SKIP() << "this build has no zlib";
#endif
  if (std::system("gzip --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "there is no gzip";
  const ParallelCorpus plain = random_corpus(2000);
  ASSERT_EQ(std::system(("cd " + folder_.string() + " && gzip -k source target").c_str()), 0);
  ParallelFiles packed = files();
  packed.source += ".gz", packed.target += ".gz", packed.cache += ".gz";
  std::uint64_t last = 0, last_total = 1;
  const ParallelCorpus corpus = ParallelCorpus::open_or_build(
      packed, {.on_progress = [&](std::uint64_t done, std::uint64_t total) { last = done, last_total = total; }});
  EXPECT_EQ(corpus.report(), plain.report());
  EXPECT_EQ(last, last_total);
  for (std::int64_t i = 0; i < corpus.pairs(); ++i)
    ASSERT_EQ(corpus.target(i).to_vector(), plain.target(i).to_vector());
}

TEST_F(ParallelCache, KeepsLargeVocabulariesToo) {
  std::string vocabulary, line;
  std::vector<std::int32_t> ids;
  for (int i = 0; i < 70000; ++i) {
    std::string token;
    append_utf8(token, static_cast<char32_t>(0x20000 + i));
    vocabulary += (i > 0 ? ",\"" : "\"") + token + "\":" + std::to_string(i);
    if (i % 1000 == 999) line += token, ids.push_back(i);
  }
  write_file(files().tokenizer, R"({"model": {"type": "BPE", "merges": [], "vocab": {)" + vocabulary + "}}}");
  const ParallelCorpus corpus = build(line + "\n", line + line + "\n");
  EXPECT_EQ(corpus.id_limit(), 70000);
  EXPECT_EQ(corpus.source(0).to_vector(), ids);
  EXPECT_EQ(corpus.target(0).size(), 2 * ids.size());
  EXPECT_EQ(corpus.target(0)[ids.size() + 69], 69999);
}

TEST_F(ParallelCache, IsReusedUntilSomethingChanges) {
  build("ab\nc\n", "x\ny\n");
  const auto built = [&](const ParallelOptions& options = {}) {
    return ParallelCorpus::open_or_build(files(), options).built();
  };
  EXPECT_FALSE(built());
  fs::last_write_time(files().source, fs::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_FALSE(built());  // touched, but the same text
  EXPECT_TRUE(built({.max_length = 50}));
  EXPECT_FALSE(built({.max_length = 50}));
  EXPECT_TRUE(built());

  const auto later = fs::last_write_time(files().source) + std::chrono::hours(1);
  write_file(files().source, "ab\nd\n");  // the same size
  fs::last_write_time(files().source, later);
  EXPECT_TRUE(built());
  EXPECT_EQ(ParallelCorpus::open(files().cache).source(1).to_vector(), letter_ids("d"));
  write_file(files().target, "x\nyz\n");
  EXPECT_TRUE(built());
  EXPECT_FALSE(built());
  write_file(files().tokenizer, test::letter_tokenizer(1));
  EXPECT_TRUE(built());
  EXPECT_EQ(ParallelCorpus::open(files().cache).source(0)[0], 1);
  EXPECT_FALSE(built());
}

TEST_F(ParallelCache, SaysWhatCannotBeReadOrWritten) {
  write_texts("a\n", "b\n");
  ParallelFiles wrong = files();
  wrong.source = folder_ / "missing";
  EXPECT_NE(message_of([&] { ParallelCorpus::open_or_build(wrong); }).find("missing"), std::string::npos);
  wrong = files();
  wrong.tokenizer = folder_ / "nowhere.json";
  EXPECT_NE(message_of([&] { ParallelCorpus::open_or_build(wrong); }).find("nowhere.json"), std::string::npos);
  wrong = files();
  wrong.cache = files().source / "under";
  EXPECT_NE(message_of([&] { ParallelCorpus::open_or_build(wrong); }).find("cannot "), std::string::npos);
  wrong.cache = folder_;
  EXPECT_NE(message_of([&] { ParallelCorpus::open_or_build(wrong); }).find("it is a folder"), std::string::npos);
  if (::geteuid() != 0) {  // root may write everywhere
    fs::create_directory(folder_ / "closed");
    fs::permissions(folder_ / "closed", fs::perms::owner_read | fs::perms::owner_exec);
    wrong.cache = folder_ / "closed" / "pairs";
    EXPECT_NE(message_of([&] { ParallelCorpus::open_or_build(wrong); }).find("cannot write"), std::string::npos);
  }
  EXPECT_EQ(message_of([&] { ParallelCorpus::open_or_build(files(), {.max_length = -1}); }).find("no error"),
            std::string::npos);
}

// A limit on the size of files stands in for a full disk: both fail in the middle of the writing.
TEST_F(ParallelCache, KeepsTheOldFileWhenTheDiskIsFull) {
  build("ab\n", "x\n");
  const std::string before = read_file(files().cache);
  test::Draw draw{1};
  const std::string text = test::random_line(draw, 80000) + "\n";
  write_texts(text, text);
  struct rlimit old {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const struct rlimit small { .rlim_cur = 50000, .rlim_max = old.rlim_max };
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string message = message_of([&] { ParallelCorpus::open_or_build(files()); });
  ::setrlimit(RLIMIT_FSIZE, &old);
  ::signal(SIGXFSZ, handler);
  EXPECT_NE(message.find("cannot write '" + files().cache.string()), message.npos) << message;
  EXPECT_EQ(read_file(files().cache), before);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 4);
  EXPECT_TRUE(ParallelCorpus::open_or_build(files()).built());
}

TEST_F(ParallelCache, StopsWhenTheProgressCallbackThrows) {
  write_texts("a\n", "b\n");
  const ParallelOptions options{.on_progress = [](std::uint64_t, std::uint64_t) { fail("interrupted"); }};
  EXPECT_EQ(message_of([&] { ParallelCorpus::open_or_build(files(), options); }), "interrupted");
  EXPECT_FALSE(fs::exists(files().cache));
}

}  // namespace
}  // namespace attend::data
