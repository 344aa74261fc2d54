// Caches that are cut, damaged or made by someone with bad intentions: refused by open(), made anew by open_or_build().
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <string>

#include "attend/base/files.h"
#include "attend/base/hashing.h"
#include "attend/data/text/cache_format.h"
#include "tests/data/corpus_files.h"

namespace attend::data {
namespace {

using test::CorpusTest, test::message_of;

class HostileCache : public CorpusTest {
 protected:
  void SetUp() override {
    CorpusTest::SetUp();
    write_texts("ab\ncde\nf\n", "uvw\nx\nyz\n");
    ParallelCorpus::open_or_build(files(), {.threads = 1});
    good_ = read_file(files().cache);
  }

  void expect_refused(const std::string& bytes, const std::string& what) {
    std::ofstream(files().cache, std::ios::binary) << bytes;  // write_file would wait for the disk each time
    EXPECT_NE(message_of([&] { ParallelCorpus::open(files().cache, 1); }).find("is not a whole parallel cache"),
              std::string::npos)
        << what;
  }

  std::string good_;
};

TEST_F(HostileCache, AnyFlippedByteIsNoticed) {
  for (std::size_t i = 0; i < good_.size(); ++i) {
    std::string bad = good_;
    bad[i] = static_cast<char>(bad[i] ^ (1 << i % 8));
    expect_refused(bad, "flipped byte " + std::to_string(i));
  }
}

TEST_F(HostileCache, AnyCutIsNoticed) {
  for (std::size_t length = 0; length < good_.size(); ++length)
    expect_refused(good_.substr(0, length), "cut to " + std::to_string(length));
  expect_refused(good_ + "x", "one more byte");
  expect_refused(good_ + good_, "twice");
}

TEST_F(HostileCache, IsMadeAnew) {
  for (const std::size_t length : {std::size_t{0}, std::size_t{7}, good_.size() / 2, good_.size() - 1}) {
    write_file(files().cache, good_.substr(0, length));
    const ParallelCorpus corpus = ParallelCorpus::open_or_build(files(), {.threads = 1});
    EXPECT_TRUE(corpus.built());
    EXPECT_EQ(corpus.target(2).to_vector(), test::letter_ids("yz"));
    EXPECT_EQ(read_file(files().cache), good_);
  }
}

// A cache whose hashes are right but whose content is not.
struct Forgery {
  std::uint64_t bounds[7];
  std::uint16_t ids[16];
  GroupEntry entry;
  Trailer trailer;
};

std::string forge(const std::string& good, const std::function<void(Forgery&)>& change) {
  Forgery f;
  const std::size_t group_bytes = sizeof f.bounds + 24;  // 12 ids
  std::memcpy(f.bounds, good.data() + 8, sizeof f.bounds);
  std::memcpy(f.ids, good.data() + 8 + sizeof f.bounds, 24);
  std::memcpy(&f.entry, good.data() + 8 + group_bytes, sizeof f.entry);
  std::memcpy(&f.trailer, good.data() + good.size() - sizeof f.trailer, sizeof f.trailer);
  change(f);
  const auto text = [](const void* data, std::size_t bytes) {
    return std::string(static_cast<const char*>(data), bytes);
  };
  const std::string group = text(f.bounds, sizeof f.bounds) + text(f.ids, 24);
  f.entry.hash = hash_text(group);
  const std::string directory = text(&f.entry, sizeof f.entry);
  f.trailer.directory_hash = hash_text(directory);
  f.trailer.hash = hash_text(bytes_before_hash(f.trailer));
  return text(&kMagic, sizeof kMagic) + group + directory + text(&f.trailer, sizeof f.trailer);
}

TEST_F(HostileCache, RightHashesDoNotHelp) {
  ASSERT_EQ(forge(good_, [](Forgery&) {}), good_);
  constexpr std::uint64_t kHuge = ~std::uint64_t{0};
  const std::function<void(Forgery&)> changes[] = {
      [](Forgery& f) { f.bounds[0] = 1; },
      [](Forgery& f) { f.bounds[2] = f.bounds[1]; },
      [](Forgery& f) { f.bounds[2] = f.bounds[1] - 1; },
      [](Forgery& f) { f.bounds[6] = kHuge; },
      [](Forgery& f) { f.bounds[6] += 1; },
      [](Forgery& f) { f.bounds[3] = kHuge / 2; },
      [](Forgery& f) { f.bounds[1] += 1; },  // the totals no longer fit
      [](Forgery& f) { f.ids[4] = 27; },
      [](Forgery& f) { f.ids[0] = 65535; },
      [](Forgery& f) { f.entry.at = 0; },
      [](Forgery& f) { f.entry.at = 16; },
      [](Forgery& f) { f.entry.at = kHuge - 7; },
      [](Forgery& f) { f.trailer.groups = 0; },
      [](Forgery& f) { f.trailer.groups = kHuge; },
      [](Forgery& f) { f.trailer.report.pairs = kHuge; },
      [](Forgery& f) { f.trailer.report.pairs = 4; },
      [](Forgery& f) { f.trailer.report.pairs = 5000; },
      [](Forgery& f) { f.trailer.report.source_longest = 2; },
      [](Forgery& f) { f.trailer.report.target_tokens = 7; },
      [](Forgery& f) { f.trailer.directory_at = 0; },
      [](Forgery& f) { f.trailer.directory_at = kHuge - 7; },
      [](Forgery& f) { f.trailer.id_bytes = 4; },
      [](Forgery& f) { f.trailer.id_bytes = 0; },
      [](Forgery& f) { f.trailer.id_limit = 20; },
      [](Forgery& f) { f.trailer.id_limit = kHuge; },
      [](Forgery& f) { f.trailer.fingerprint.format = kFormat + 1; },
  };
  int number = 0;
  for (const auto& change : changes) expect_refused(forge(good_, change), "change " + std::to_string(number++));
}

}  // namespace
}  // namespace attend::data
