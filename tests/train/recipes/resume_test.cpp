// A run that is killed again and again and resumed ends with the same bits as one never stopped. Real processes, real
// SIGKILL, at moments that differ from run to run.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "attend/base/files.h"
#include "attend/checkpoint/safetensors.h"
#include "tests/train/recipes/detection/toy_scenes.h"
#include "tests/train/recipes/folder_bytes.h"
#include "tests/train/recipes/heads/toy_labels.h"
#include "tests/train/recipes/images/toy_images.h"
#include "tests/train/recipes/slower.h"
#include "tests/train/recipes/translation/toy_corpus.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// build/tests/train_test -> build/attend
fs::path program() { return fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "attend"; }

// By way of an emulator where the tests run in one (cmake/tests.cmake).
pid_t start(const std::vector<std::string>& args) {
  const char* emulator = std::getenv("ATTEND_EMULATOR");
  std::istringstream before(emulator ? emulator : "");
  std::vector<std::string> all{std::istream_iterator<std::string>(before), {}};
  all.push_back(program().string());
  all.insert(all.end(), args.begin(), args.end());
  std::vector<char*> words;
  for (std::string& word : all) words.push_back(word.data());
  words.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    if (!freopen("/dev/null", "w", stderr) || !freopen("/dev/null", "w", stdout)) _exit(126);
    execvp(words[0], words.data());
    _exit(127);
  }
  return child;
}

// The exit code; -1 when it was killed.
int wait_for(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Returns when the log says that this step is over, or when the child has ended by itself.
void wait_until_step(const fs::path& log, std::int64_t step, pid_t child) {
  while (true) {
    std::ifstream file(log);  // absent for a moment when a run replaces another
    const std::string text(std::istreambuf_iterator<char>(file), {});
    const std::size_t at = text.rfind("\"step\":");
    if (at != std::string::npos && std::atoll(text.c_str() + at + 7) >= step) return;
    siginfo_t info = {};
    if (waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child)
      return;
    std::this_thread::sleep_for(1ms);
  }
}

// Where every step takes longer, so many are as good as all.
const int kShorter = kLearns ? 1 : 4;

class Resume : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!fs::exists(program())) GTEST_SKIP() << "the program " << program() << " is not built";
    folder_ = scratch_folder("attend_resume");
    write_toy_corpus(folder_, {.pairs = 300, .seed = 1});
    write_toy_labels(folder_, 60);
    write_toy_images(folder_ / "images");
    write_toy_scenes(folder_ / "scenes");
    if (std::string(GetParam()) != "classify") return;
    std::vector<std::string> args = toy_masked_training(folder_, folder_ / "start");
    args.insert(args.end(), {"--steps", "2"});
    ASSERT_EQ(wait_for(start(args)), 0);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::vector<std::string> toy_run(const std::string& model, const std::string& out) const {
    if (model == "language-model") return toy_language_training(folder_, folder_ / out);
    if (model == "masked-lm") return toy_masked_training(folder_, folder_ / out);
    if (model == "classify-images")
      return toy_image_training(folder_ / "images", folder_ / out,
                                {"--model", "vit_conv", "--ema", "0.9", "--mixup", "0.4", "--mix-until", "0.5",
                                 "--flip", "--drop-path", "0.1", "--workers", "2"});
    if (model == "detect")
      return toy_detr(toy_detect_training(folder_ / "scenes", folder_ / out,
                                          {"--ema", "0.9", "--clip-norm", "1", "--workers", "2"}));
    if (model == "draw")
      return toy_draw_training(folder_ / "images", folder_ / out,
                               {"--ema", "0.9", "--discriminator-turns", "2", "--diff-augment",
                                "translation,cutout,color", "--workers", "2"});
    if (model == "classify") return toy_head_training(folder_, model, ".tsv", folder_ / "start", folder_ / out);
    return toy_training(folder_, folder_ / out, model);
  }
  std::vector<std::string> run(const std::string& out) const {
    const std::string model = GetParam();
    std::vector<std::string> args = toy_run(model, out);
    for (const auto& [flag, steps] : {std::pair{"--steps", 160}, {"--save-every", 9}, {"--validate-every", 24}})
      args.insert(args.end(), {flag, std::to_string(steps / kShorter)});
    args.insert(args.end(), {"--log-every", "2", "--average", "2"});
    if (model == "language-model") args.insert(args.end(), {"--lookahead", "4", "--lookahead-power", "2"});
    if (model != "draw") args.insert(args.end(), {"--dropout", "0.1"});
    return args;
  }

  fs::path folder_;
};

TEST_P(Resume, KilledAndResumedIsTheSameToTheBit) {
  ASSERT_EQ(wait_for(start(run("whole"))), 0);
  std::mt19937 random(std::random_device{}());
  const auto resumed = [&] {
    std::vector<std::string> args = run("pieces");
    args.emplace_back(fs::exists(folder_ / "pieces/state.safetensors") ? "--resume" : "--overwrite");
    return args;
  };
  // Somewhere in its first moments, and then whenever it has come so far.
  for (int i = 0; i < 4; ++i) {
    const pid_t child = start(resumed());
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 40));
    kill(child, SIGKILL);
    wait_for(child);
  }
  for (const std::int64_t far : {8, 36, 64}) {
    const pid_t child = start(resumed());
    const std::int64_t step = far + static_cast<std::int64_t>(random() % 24);
    wait_until_step(folder_ / "pieces/log.jsonl", step / kShorter, child);
    kill(child, SIGKILL);
    ASSERT_EQ(wait_for(child), -1) << "it ended before it could be killed";
  }
  ASSERT_EQ(wait_for(start(resumed())), 0);
  EXPECT_EQ(read_file(folder_ / "whole/model.safetensors"), read_file(folder_ / "pieces/model.safetensors"));
  const checkpoint::Safetensors whole = checkpoint::Safetensors::open((folder_ / "whole/state.safetensors").string());
  const checkpoint::Safetensors pieces = checkpoint::Safetensors::open((folder_ / "pieces/state.safetensors").string());
  for (const checkpoint::StoredTensor& tensor : whole.tensors()) {
    const auto other = pieces[tensor.name].bytes;
    EXPECT_TRUE(std::equal(tensor.bytes.begin(), tensor.bytes.end(), other.begin(), other.end())) << tensor.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Resume,
                         testing::Values("transformer", "rnn-attention", "language-model", "masked-lm", "classify",
                                         "classify-images", "detect", "draw"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace attend::test
