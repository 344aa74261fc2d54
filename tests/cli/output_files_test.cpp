// What commands write: never over what they read, all of it or nothing, and an error where the system says no.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/base/output_files.h"
#include "attend/image/encode.h"
#include "tests/cli/run_attend.h"
#include "tests/tasks/changed_folder.h"
#include "tests/train/recipes/folder_bytes.h"
#include "tests/train/recipes/translation/toy_corpus.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

// No file may get longer, as after `ulimit -f`, until the end of the scope.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_ = {};
};

class OutputFilesTest : public testing::Test {
 protected:
  OutputFilesTest() {
    write_file(text, "two\none\nthree\n");
    write_file(masked, "the [MASK] is red .\n");
    image::Image painted(32, 32);
    for (std::size_t i = 0; i < painted.pixels.size(); ++i) painted.pixels[i] = static_cast<std::uint8_t>(i * 7);
    write_file(image, image::encode_png(painted));
  }
  ~OutputFilesTest() override { fs::remove_all(folder); }

  std::string path(const std::string& name) const { return (folder / name).string(); }

  // Every file of the folder, with its bytes.
  std::map<std::string, std::string> bytes() const {
    std::map<std::string, std::string> all;
    std::error_code ignored;  // of a link that leads to itself
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      all[entry.path().string()] = entry.is_regular_file(ignored) ? read_file(entry.path()) : "";
    return all;
  }

  // All commands that write files: the words, of which the last is the flag of the file, and an input of it.
  struct Writes {
    Words words;
    std::string input;
    bool slow = false;
  };
  std::vector<Writes> commands() const {
    const Words translate = {"translate", "--model", "reverse-transformer", text};
    const auto with = [](Words words, const Words& more) {
      words.insert(words.end(), more.begin(), more.end());
      return words;
    };
    const Words look = {"look", "--model", "vit-fashion-mnist", "--image", image},
                detect = {"detect", "--model", "detr-scenes", "--threshold", "0", image},
                describe = {"describe", "--model", "flickr8k", "--beams", "1", image},
                draw = {"draw", "--model", "sagan-cifar10", "--count", "1"};
    return {{with(translate, {"--output"}), text},
            {with(translate, {"--attention"}), text},
            {with(translate, {"--attention-svg"}), text},
            {{"embed", "--model", "bert", text, "--output"}, text},
            {{"embed", "--model", "bert", text, "--npy"}, text},
            {{"embed", "--model", "vit-fashion-mnist", image, "--npy"}, image},
            {{"fill", "--model", "bert", masked, "--output"}, masked},
            {{"classify", "--model", "bert-sst2", text, "--output"}, text},
            {{"train-tokenizer", text, "--vocabulary", "300", "--out"}, text},
            {{"preprocess", "--model", "vit-fashion-mnist", image, "--out"}, image},
            {with(look, {"--png"}), image},
            {with(look, {"--svg"}), image},
            {with(look, {"--export"}), image},
            {with(detect, {"--png"}), image},
            {with(detect, {"--svg"}), image},
            {with(detect, {"--json"}), image},
            {with(describe, {"--png"}), image, true},
            {with(describe, {"--svg"}), image, true},
            {with(describe, {"--results"}), image},
            {with(draw, {"--png"}), ""},
            {with(draw, {"--svg"}), ""},
            {with(draw, {"--show-attention"}), ""},
            {{"demo", "--task", "describe", "--png"}, "", true},
            {{"completions", "bash", "--out"}, ""}};
  }
  static Words onto(const Writes& command, const std::string& file) {
    Words words = command.words;
    words.push_back(file);
    return words;
  }
  static std::string said(const Words& words) {
    std::string text;
    for (const std::string& word : words) text += word + " ";
    return text;
  }

  const fs::path folder = scratch_folder("attend_outputs");
  const std::string text = path("text.txt"), masked = path("masked.txt"), image = path("image.png");
};

TEST_F(OutputFilesTest, NoInputIsWrittenOver) {
  for (const Writes& command : commands()) {
    if (command.input.empty()) continue;
    const std::string ending = fs::path(command.input).extension().string();
    fs::create_symlink(command.input, path("link" + ending));
    fs::create_hard_link(command.input, path("same" + ending));
    const auto before = bytes();
    for (const std::string& file : {command.input, path("link" + ending), path("same" + ending)}) {
      const Outcome outcome = run_attend(onto(command, file));
      EXPECT_EQ(outcome.code, 1) << said(onto(command, file));
      // Results of images are refused by the name already.
      const bool known = outcome.err.find("would be lost") != std::string::npos ||
                         outcome.err.find("called as an image is") != std::string::npos;
      EXPECT_TRUE(known) << said(command.words) << outcome.err;
    }
    EXPECT_EQ(bytes(), before) << said(command.words);
    fs::remove(path("link" + ending)), fs::remove(path("same" + ending));
  }
}

// Nor a file of the model; others in its folder are only files.
TEST_F(OutputFilesTest, NoFileOfTheModelIsWrittenOver) {
  const ChangedFolder model("models/reverse-transformer");
  const Words words = {"translate", "--model", model.path(), text, "--output"};
  for (const char* name : {"/config.json", "/model.safetensors", "/tokenizer.json"}) {
    const std::string before = read_file(model.path() + name);
    const Outcome outcome = run_attend(onto({words, ""}, model.path() + name));
    EXPECT_NE(outcome.err.find("would be lost"), std::string::npos) << name << outcome.err;
    EXPECT_EQ(read_file(model.path() + name), before);
  }
  EXPECT_EQ(run_attend(onto({words, ""}, model.path() + "/out.txt")).code, 0);
  EXPECT_EQ(run_attend(onto({words, ""}, model.path() + "/out.txt")).code, 0);
}

// As `ulimit -f` and a full disk: the file and the reason, and nothing is left but what was there.
TEST_F(OutputFilesTest, AFileThatMayNotGetSoLongIsAnError) {
  for (const Writes& command : commands()) {
    if (command.slow) continue;
    const std::string file = path("out.png");
    const Words words = onto(
        command, command.words.back() == "--results" || command.words.back() == "--json" ? path("out.json") : file);
    const std::string out = words.back();
    write_file(out, "old");
    const auto before = bytes();
    Outcome outcome;
    {
      const FileSizeLimit limit(4);
      outcome = run_attend(words);
    }
    EXPECT_EQ(outcome.code, 1) << said(words);
    EXPECT_NE(outcome.err.find("File too large"), std::string::npos) << said(words) << outcome.err;
    EXPECT_NE(outcome.err.find(out), std::string::npos) << said(words) << outcome.err;
    EXPECT_EQ(bytes(), before) << said(words);
    fs::remove(out);
  }
}

TEST_F(OutputFilesTest, FoldersAndRunsThatMayNotGetSoLongAreErrors) {
  write_toy_corpus(folder, {.pairs = 40});
  const auto before = bytes();
  for (Words words : {Words{"convert", "models/reverse-transformer", "--out", path("new")},
                      Words{"make-data", "dates", "--count", "200", "--unseen", "20", "--out", path("new")},
                      Words{"make-data", "scenes", "--count", "2", "--unseen", "1", "--out", path("new")},
                      Words{"manual", "--out", path("new")}, toy_training(folder, path("new"))}) {
    if (words[0] == "train") words.insert(words.end(), {"--steps", "2"});
    Outcome outcome;
    {
      const FileSizeLimit limit(100);
      outcome = run_attend(words);
    }
    EXPECT_EQ(outcome.code, 1) << said(words);
    EXPECT_NE(outcome.err.find("File too large"), std::string::npos) << said(words) << outcome.err;
    for (const auto& [name, content] : bytes()) EXPECT_FALSE(is_temporary_name(name)) << name;
    if (words[0] != "train") {
      EXPECT_EQ(bytes(), before) << said(words);
    }
    fs::remove_all(path("new"));
  }
}

TEST_F(OutputFilesTest, WhatIsRefusedLeavesTheOldFile) {
  const std::string old = path("old.txt");
  write_file(old, "hours of work\n");
  write_file(path("long.txt"), "one\n" + std::string(300, 'a') + "\n");
  const auto before = bytes();
  const Words translate = {"translate", "--model", "reverse-transformer", text, "--output", old};
  const auto refused = [&](const Words& words, const std::string& part) {
    const Outcome outcome = run_attend(words, "no mask here\n");
    EXPECT_EQ(outcome.code, 1) << said(words);
    EXPECT_NE(outcome.err.find(part), std::string::npos) << said(words) << outcome.err;
    EXPECT_EQ(bytes(), before) << said(words);
  };
  Words beams = translate, model = translate;
  beams.insert(beams.end(), {"--beams", "5000"});
  refused(beams, "5000");
  refused({"translate", "--model", "reverse-transformer", path("long.txt"), "--output", old, "--max-line", "100"},
          "longer than 100 bytes");
  refused({"translate", "--model", "reverse-transformer", path("none.txt"), "--output", old}, "none.txt");
  refused({"translate", "--model", "nothing", text, "--output", old}, "nothing");
  refused({"fill", "--model", "bert", text, "--output", old}, "[MASK]");
  refused({"fill", "--model", "bert", "--output", old}, "[MASK]");
  refused({"embed", "--model", "bert", path("long.txt"), "--npy", old, "--max-line", "100"}, "longer than");
  refused({"translate", "--model", "reverse-transformer", path("long.txt"), "--attention", old, "--attention-svg",
           path("old.svg"), "--max-line", "100"},
          "longer than");
}

TEST_F(OutputFilesTest, TwoOutputsAreTwoFiles) {
  write_file(path("a.svg"), "old");
  fs::create_hard_link(path("a.svg"), path("b.svg"));
  const auto before = bytes();
  const auto refused = [&](const Words& words) {
    const Outcome outcome = run_attend(words);
    EXPECT_EQ(outcome.code, 1) << said(words);
    EXPECT_NE(outcome.err.find("give each a name of its own"), std::string::npos) << outcome.err;
    EXPECT_EQ(bytes(), before);
  };
  const Words translate = {"translate", "--model", "reverse-transformer", text};
  const auto with = [&](Words more) {
    more.insert(more.begin(), translate.begin(), translate.end());
    return more;
  };
  refused(with({"--attention", path("new"), "--output", path("new")}));
  refused(with({"--attention", path("new"), "--output", path("./new")}));
  refused(with({"--attention", path("a.svg"), "--attention-svg", path("b.svg")}));
  // The figure of the second line.
  refused(with({"--attention", path("f-2.svg"), "--attention-svg", path("f.svg")}));
  refused({"draw", "--model", "sagan-cifar10", "--count", "1", "--png", path("c.png"), "--out", path("c.png")});
}

TEST_F(OutputFilesTest, LinksDevicesAndPipes) {
  const Words translate = {"translate", "--model", "reverse-transformer", text, "--output"};
  const std::string answers = run_attend({translate.begin(), translate.end() - 1}).out;
  ASSERT_FALSE(answers.empty());
  // The target is replaced, also one that is not there yet; the link stays.
  write_file(path("target"), "old");
  fs::create_symlink("target", path("link"));
  fs::create_symlink("new target", path("new link"));
  for (const char* name : {"link", "new link"}) {
    EXPECT_EQ(run_attend(onto({translate, ""}, path(name))).code, 0);
    EXPECT_TRUE(fs::is_symlink(path(name)));
    EXPECT_EQ(read_file(path(name)), answers);
  }
  EXPECT_EQ(read_file(path("target")), answers);
  const Outcome standard = run_attend(onto({translate, ""}, "-"));
  EXPECT_EQ(standard.out, answers) << standard.err;
  EXPECT_FALSE(fs::exists("-"));
  for (const Writes& command : commands()) {
    if (command.words.back() == "--show-attention" || command.slow) continue;  // wants an ending
    EXPECT_EQ(run_attend(onto(command, "/dev/null")).code, 0) << said(command.words);
  }
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = read_file(path("pipe")); });
  EXPECT_EQ(run_attend(onto({translate, ""}, path("pipe"))).code, 0);
  reader.join();
  EXPECT_EQ(got, answers);
  // A link that leads to itself is an error, and has nothing beside it afterwards.
  fs::create_symlink("loop", path("loop"));
  const auto before = bytes();
  for (const Writes& command : commands()) {
    if (command.words.back() == "--show-attention") continue;
    const Outcome looped = run_attend(onto(command, path("loop")));
    EXPECT_EQ(looped.code, 1);
    EXPECT_NE(looped.err.find("symbolic links"), std::string::npos) << said(command.words) << looped.err;
    EXPECT_EQ(bytes(), before);
  }
}

TEST_F(OutputFilesTest, AllTakeTheirPlaceOrNone) {
  write_file(path("a"), "old");
  {
    OutputFiles outputs({.outputs = {{"--a", path("a")}, {"--b", path("x/y/b")}, {"--c", ""}}, .inputs = {text}});
    outputs.write(path("a"), "new");
    outputs.write(path("x/y/b"), "new");
  }
  EXPECT_EQ(read_file(path("a")), "old");
  EXPECT_FALSE(fs::exists(path("x")));
  {
    OutputFiles outputs({.outputs = {{"--a", path("a")}, {"--b", path("x/y/b")}}});
    outputs.write(path("a"), "new");
    outputs.writer(path("x/y/b"))("new");
    EXPECT_THROW(outputs.write(path("c"), "not named"), Error);
    outputs.commit();
  }
  EXPECT_EQ(read_file(path("a")), "new");
  EXPECT_EQ(read_file(path("x/y/b")), "new");
  EXPECT_EQ(bytes().count(path("c")), 0u);
}

}  // namespace
}  // namespace attend::test
