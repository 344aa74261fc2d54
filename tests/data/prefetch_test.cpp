// Prefetching: the same items in the same order, never too many ahead, exceptions arrive, and it can stop at any time.
#include "attend/data/prefetch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "attend/base/error.h"
#include "attend/data/text/pair_batches.h"
#include "tests/base/few_threads.h"
#include "tests/data/corpus_files.h"

namespace attend::data {
namespace {

using Numbers = Prefetch<std::unique_ptr<int>, int>;

TEST(PrefetchTest, KeepsTheOrderAndThePositions) {
  int made = 0;
  Numbers numbers([&]() -> Numbers::Entry {
    ++made;
    return {std::make_unique<int>(made - 1), made};
  });
  for (int i = 0; i < 1000; ++i) {
    const Numbers::Entry entry = numbers.next();
    ASSERT_EQ(*entry.item, i);
    ASSERT_EQ(entry.after, i + 1);
  }
}

TEST(PrefetchTest, MakesNoMoreThanAskedFor) {
  std::atomic<int> made = 0;
  Numbers numbers([&]() -> Numbers::Entry { return {std::make_unique<int>(0), ++made}; }, 3);
  numbers.next();
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (made < 4 && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(made, 4);  // one used, three ready
}

TEST(PrefetchTest, CarriesExceptionsAfterWhatWasMade) {
  int made = 0;
  Numbers numbers([&]() -> Numbers::Entry {
    check(made < 5, "no more than {}", made);
    return {std::make_unique<int>(made), ++made};
  });
  for (int i = 0; i < 5; ++i) EXPECT_EQ(*numbers.next().item, i);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(test::message_of([&] { numbers.next(); }), "no more than 5");
}

TEST(PrefetchTest, StopsAtAnyTime) {
  for (int round = 0; round < 200; ++round) {
    int made = 0;
    Numbers numbers(
        [&]() -> Numbers::Entry {
          return {std::make_unique<int>(0), ++made};
        },
        static_cast<std::size_t>(round % 4));
    for (int i = 0; i < round % 7; ++i) numbers.next();
  }
}

class PrefetchedBatches : public test::CorpusTest {};

TEST_F(PrefetchedBatches, ResumeWhereTheConsumerWas) {
  const ParallelCorpus corpus = random_corpus(2000);
  const PairBatchOptions options{.tokens = 500, .seed = 3, .start = 1, .end = 2};
  using Batches = Prefetch<HostPairBatch, Position>;
  const auto from = [](PairBatches& batches) {
    return [&batches]() -> Batches::Entry { return {batches.next(), batches.position()}; };
  };
  PairBatches plain(corpus, options);
  Position saved;
  {
    PairBatches ahead(corpus, options);
    Batches prefetch(from(ahead));
    for (int i = 0; i < 37; ++i) {
      Batches::Entry entry = prefetch.next();
      ASSERT_TRUE(entry.item == plain.next());
      saved = entry.after;
    }
  }
  EXPECT_EQ(saved, plain.position());
  PairBatches resumed(corpus, options);
  resumed.seek(saved);
  Batches prefetch(from(resumed));
  for (int i = 0; i < 80; ++i) ASSERT_TRUE(prefetch.next().item == plain.next()) << i;
}

TEST(PrefetchTest, WithoutAThreadIsAnError) {
  attend::test::expect_with_few_threads(1, [] {
    try {
      Numbers numbers([]() -> Numbers::Entry { return {nullptr, 0}; });
    } catch (const Error& error) {
      return std::string_view(error.what()).starts_with("prefetch: cannot start a thread");
    }
    return false;
  });
}

}  // namespace
}  // namespace attend::data
