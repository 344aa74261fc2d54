// Every call on files of a training, one after another, fails or is the last of its process: the run that was there is
// whole, and what is resumed ends with the same bits.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "attend/base/os.h"
#include "attend/train/loop/run_folder.h"
#include "tests/cli/run_attend.h"
#include "tests/train/recipes/folder_bytes.h"
#include "tests/train/recipes/heads/toy_labels.h"
#include "tests/train/recipes/slower.h"
#include "tests/train/recipes/translation/toy_corpus.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

// Counts the calls, or those that rename alone, and ends with the one of this number: it fails, as all behind it do
// ("the disk is gone"), or only it does.
struct Broken {
  std::int64_t at = 0;
  bool for_good = false, renames = false;
  std::int64_t calls = 0;

  int operator()(os::Call call, const fs::path&) {
    const bool counts = !renames || call == os::Call::rename;
    if (counts) ++calls;
    return (counts && calls == at) || (for_good && calls >= at && at > 0) ? ENOSPC : 0;
  }
};

class Faults : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    folder_ = scratch_folder("attend_faults");
    write_toy_corpus(folder_, {.pairs = 12, .seed = 3});
    write_toy_labels(folder_, 12);
    if (std::string(GetParam()) != "classify") return;
    Words args = toy_masked_training(folder_, folder_ / "start");
    args.insert(args.end(), {"--steps", "1", "--width", "16"});
    ASSERT_EQ(run_attend(args).code, 0);
  }
  void TearDown() override { fs::remove_all(folder_); }

  Words training(const std::string& out, const Words& more) const {
    const std::string task = GetParam();
    const fs::path to = folder_ / out;
    Words args = task == "language-model" ? toy_language_training(folder_, to)
                 : task == "masked-lm"    ? toy_masked_training(folder_, to)
                 : task == "classify"     ? toy_head_training(folder_, task, ".tsv", folder_ / "start", to)
                                          : toy_training(folder_, to);
    if (task != "classify") args.insert(args.end(), {"--width", "16"});
    args.insert(args.end(), {"--steps", "4", "--validate-every", "2", "--save-every", "1", "--average", "2"});
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  // Runs it with the fault; returns how many calls it made.
  std::int64_t run(const Words& args, Broken broken, int expected) const {
    const os::FaultInjection faults([&](os::Call call, const fs::path& path) { return broken(call, path); });
    const Outcome outcome = run_attend(args);
    EXPECT_TRUE(outcome.code == expected || expected < 0) << outcome.err;
    EXPECT_TRUE(outcome.code == 0 || outcome.err.find("attend: ") != std::string::npos);
    return broken.calls;
  }
  // Of the calls every n-th, so that about so many are tried, and fewer under ASan.
  static std::int64_t stride(std::int64_t calls, std::int64_t tries) {
    return std::max<std::int64_t>(1, calls * kSlower / std::min(tries, calls));
  }
  void expect_the_same_bits(std::int64_t tries);
  void expect_whole_or_replaced(std::int64_t tries);
  void expect_pairs(std::int64_t tries);

  fs::path folder_;
};

void Faults::expect_the_same_bits(std::int64_t tries) {
  const std::int64_t calls = run(training("whole", {}), {}, 0);
  const std::string whole = read_file(folder_ / "whole/model.safetensors");
  for (const bool for_good : {false, true}) {
    const std::int64_t step = stride(calls, tries);
    for (std::int64_t at = 1; at <= calls; at += step) {
      fs::remove_all(folder_ / "parts");
      run(training("parts", {}), {.at = at, .for_good = for_good}, -1);
      const bool resumes = train::has_run(folder_ / "parts");
      const Outcome again = run_attend(training("parts", {resumes ? "--resume" : "--overwrite"}));
      ASSERT_EQ(again.code, 0) << "after call " << at << ": " << again.err;
      ASSERT_EQ(read_file(folder_ / "parts/model.safetensors"), whole) << "after call " << at;
    }
  }
}

// A process is killed when it renames a file, and so is the one that goes on with its run. What a folder holds changes
// in no other call, but for files that nobody reads.
void Faults::expect_pairs(std::int64_t tries) {
  const std::int64_t calls = run(training("whole", {}), {.renames = true}, 0);
  const std::string whole = read_file(folder_ / "whole/model.safetensors");
  const auto go_on = [&](std::int64_t at, int expected) {
    const bool resumes = train::has_run(folder_ / "parts");
    run(training("parts", {resumes ? "--resume" : "--overwrite"}), {.at = at, .for_good = true, .renames = true},
        expected);
  };
  const std::int64_t pairs = calls * calls, step = stride(pairs, tries);
  for (std::int64_t pair = 0; pair < pairs; pair += step) {
    const std::int64_t first = 1 + pair / calls, second = 1 + (pair % calls + pair / calls) % calls;
    SCOPED_TRACE("renames " + std::to_string(first) + " and then " + std::to_string(second));
    fs::remove_all(folder_ / "parts");
    run(training("parts", {}), {.at = first, .for_good = true, .renames = true}, -1);
    go_on(second, -1);
    go_on(0, 0);
    ASSERT_FALSE(HasFailure());
    ASSERT_EQ(read_file(folder_ / "parts/model.safetensors"), whole);
  }
}

// The old run is there as it was, or the new one has a state and goes on.
void Faults::expect_whole_or_replaced(std::int64_t tries) {
  ASSERT_EQ(run_attend(training("whole", {"--seed", "2"})).code, 0);
  const std::string whole = read_file(folder_ / "whole/model.safetensors");
  ASSERT_EQ(run_attend(training("old", {})).code, 0);
  fs::copy(folder_ / "old", folder_ / "parts", fs::copy_options::recursive);
  const std::int64_t calls = run(training("parts", {"--seed", "2", "--overwrite"}), {}, 0);
  const auto old = bytes_in(folder_ / "old");
  const std::int64_t step = stride(calls, tries);
  for (const bool for_good : {false, true}) {
    for (std::int64_t at = 1; at <= calls; at += step) {
      fs::remove_all(folder_ / "parts");
      fs::copy(folder_ / "old", folder_ / "parts", fs::copy_options::recursive);
      run(training("parts", {"--seed", "2", "--overwrite"}), {.at = at, .for_good = for_good}, -1);
      ASSERT_TRUE(train::has_run(folder_ / "parts")) << "after call " << at;
      if (read_json(folder_ / "parts/recipe.json")["seed"] == 1) {
        ASSERT_TRUE(bytes_in(folder_ / "parts") == old) << "after call " << at;
      } else {
        const Outcome again = run_attend(training("parts", {"--seed", "2", "--resume"}));
        ASSERT_EQ(again.code, 0) << "after call " << at << ": " << again.err;
        ASSERT_EQ(read_file(folder_ / "parts/model.safetensors"), whole) << "after call " << at;
      }
    }
  }
}

TEST_P(Faults, WhateverFailsTheRunGoesOnToTheSameBits) {
  expect_the_same_bits(GetParam() == std::string("language-model") ? 60 : 20);
}
TEST_P(Faults, WhateverFailsAnOverwrittenRunIsWholeOrReplaced) {
  expect_whole_or_replaced(GetParam() == std::string("language-model") ? 30 : 12);
}

TEST_P(Faults, TwoKillsLoseNoMoreThanOne) { expect_pairs(200); }

// Every call; under ASan every sixth.
class LongFaults : public Faults {};
TEST_P(LongFaults, WhateverFailsTheRunGoesOnToTheSameBits) { expect_the_same_bits(INT64_MAX); }
TEST_P(LongFaults, WhateverFailsAnOverwrittenRunIsWholeOrReplaced) { expect_whole_or_replaced(INT64_MAX); }
TEST_P(LongFaults, TwoKillsLoseNoMoreThanOne) { expect_pairs(INT64_MAX); }

std::string task_name(const testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::erase(name, '-');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Tasks, Faults, testing::Values("language-model", "masked-lm", "classify", "translation"),
                         task_name);
INSTANTIATE_TEST_SUITE_P(Tasks, LongFaults, testing::Values("language-model", "masked-lm", "classify", "translation"),
                         task_name);

}  // namespace
}  // namespace attend::test
