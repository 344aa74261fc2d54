// Sums by NCCL in a world of one, on a GPU: they change nothing, in a captured step as outside of one.
#include <gtest/gtest.h>

#include <cstdlib>

#include "attend/backends.h"
#include "tests/cli/run_attend.h"
#include "tests/train/recipes/folder_bytes.h"
#include "tests/train/recipes/translation/toy_corpus.h"
#include "tests/world/mpirun.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;

TEST(Nccl, OfOneRankChangesNothing) {
  const fs::path plugin = build_folder() / "libattend_nccl.so";
  if (gpus().empty()) GTEST_SKIP() << "there is no GPU";
  if (!fs::exists(plugin)) GTEST_SKIP() << "the NCCL plugin is not built";
  setenv("ATTEND_NCCL_PLUGIN", plugin.c_str(), 1);
  const fs::path folder = scratch_folder("attend_nccl");
  write_toy_corpus(folder, {.pairs = 300, .seed = 1});
  const auto trained = [&](const std::string& out, const char* nccl, const std::vector<std::string>& more) {
    setenv("ATTEND_NCCL", nccl, 1);
    std::vector<std::string> words = toy_language_training(folder, folder / out);
    words.insert(words.end(), {"--device", "cuda", "--steps", "20", "--average", "1"});
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = run_attend(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.code == 0 ? read_file(folder / out / "model.safetensors") : "";
  };
  EXPECT_TRUE(trained("with", "1", {}) == trained("without", "0", {}));
  EXPECT_FALSE(trained("rounded", "1", {"--wire", "bf16"}).empty());
  unsetenv("ATTEND_NCCL");
  unsetenv("ATTEND_NCCL_PLUGIN");
  fs::remove_all(folder);
}

}  // namespace
}  // namespace attend::test
