// There is not enough memory, for any one of the large allocations of a command: an error that says what was asked
// for, exit code 1, nothing crashes and nothing leaks (ASan looks), and the next try works.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "attend/base/files.h"
#include "attend/base/memory.h"
#include "attend/image/encode.h"
#include "tests/cli/run_attend.h"
#include "tests/train/recipes/folder_bytes.h"
#include "tests/train/recipes/translation/toy_corpus.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

class Memory : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = scratch_folder("attend_memory");
    write_toy_corpus(folder_, {.pairs = 60, .seed = 3});
  }
  void TearDown() override { fs::remove_all(folder_); }

  // Refuses the allocation of each number up to the last, or about `tries` of them.
  static void walk(const Words& args, const std::string& input, int tries) {
    std::atomic<std::int64_t> count = 0;
    const Outcome whole = [&] {
      const memory::FaultInjection counting([&](std::size_t) { return ++count, true; });
      return run_attend(args, input);
    }();
    ASSERT_EQ(whole.code, 0) << whole.err;
    const std::int64_t all = count, step = std::max<std::int64_t>(1, all / tries);
    ASSERT_GT(all, 3);
    for (std::int64_t at = 1; at <= all; at += step) {
      count = 0;
      const memory::FaultInjection refusing([&](std::size_t) { return ++count != at; });
      const Outcome outcome = run_attend(args, input);
      if (count < at) continue;  // threads share memory out differently from run to run
      EXPECT_EQ(outcome.code, 1) << "allocation " << at << " of " << all;
      EXPECT_NE(outcome.err.find("memory"), std::string::npos) << outcome.err;
      EXPECT_NE(outcome.err.find("asked for"), std::string::npos) << outcome.err;
    }
    EXPECT_EQ(run_attend(args, input).out, whole.out);
  }

  fs::path folder_;
};

TEST_F(Memory, Translating) {
  walk({"translate", "--model", "models/en-fr", "--threads", "1"}, "I am a student.\n", 25);
}

TEST_F(Memory, Writing) {
  walk({"generate", "--model", "models/shakespeare", "--max-tokens", "3", "--greedy", "--threads", "2", "ROMEO:"}, "",
       25);
}

TEST_F(Memory, Classifying) {
  walk({"classify", "--model", "models/bert-sst2", "--threads", "1"}, "a moving film .\n", 25);
}

// An image of 2000 x 1500, 9 MB as pixels, is resized as it is decoded.
TEST_F(Memory, ALargeImageIsNeverWhole) {
  const std::string file = (folder_ / "large.png").string();
  write_file(file, image::encode_png(image::Image(2000, 1500)));
  std::atomic<std::size_t> largest = 0;
  const auto largest_of = [&](const Words& words) {
    largest = 0;
    const memory::FaultInjection watching([&](std::size_t bytes) {
      for (std::size_t seen = largest; bytes > seen && !largest.compare_exchange_weak(seen, bytes);) {
      }
      return true;
    });
    const Outcome outcome = run_attend(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return largest.load();
  };
  const std::string out = (folder_ / "out.safetensors").string();
  EXPECT_LT(largest_of({"preprocess", "--model", "models/vit-cifar10", file, "--out", out}), 2'000'000u);
  EXPECT_GE(largest_of({"detect", "--model", "models/detr-scenes", file}), 9'000'000u);  // which draws on it
}

TEST_F(Memory, Training) {
  Words args = toy_training(folder_, folder_ / "model");
  args.insert(args.end(), {"--steps", "4", "--validate-every", "2", "--overwrite", "--average", "2"});
  std::atomic<std::int64_t> count = 0;
  {
    const memory::FaultInjection counting([&](std::size_t) { return ++count, true; });
    ASSERT_EQ(run_attend(args).code, 0);
  }
  const std::int64_t all = count, step = std::max<std::int64_t>(1, all / 40);
  const std::string whole = read_file(folder_ / "model/model.safetensors");
  for (std::int64_t at = 1; at <= all; at += step) {
    count = 0;
    {
      const memory::FaultInjection refusing([&](std::size_t) { return ++count != at; });
      const Outcome outcome = run_attend(args);
      if (count < at) continue;
      EXPECT_EQ(outcome.code, 1) << "allocation " << at << " of " << all;
      EXPECT_NE(outcome.err.find("memory"), std::string::npos) << outcome.err;
    }
    ASSERT_EQ(run_attend(args).code, 0);
    EXPECT_EQ(read_file(folder_ / "model/model.safetensors"), whole);
  }
}

}  // namespace
}  // namespace attend::test
