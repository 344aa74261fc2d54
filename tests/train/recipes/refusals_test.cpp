// What is refused changes no byte, for every recipe: settings, files and starts that will not do are found before the
// run's folder is touched, whether it is new or holds a run that is to be overwritten.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "attend/base/files.h"
#include "attend/base/json.h"
#include "tests/cli/run_attend.h"
#include "tests/train/recipes/folder_bytes.h"
#include "tests/train/recipes/toy_tasks.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;

struct Refusal {
  Words words;
  std::string message;
};

class Refusals : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = scratch_folder("attend_refusals");
    fs::create_directories(folder_);
    write("one.txt", "one two three\n");
    std::string line;
    for (int i = 0; i < 200; ++i) line += std::to_string(i * i) + " ";
    for (const char* name : {"long.txt", "long_too.txt"}) write(name, line + "\n");
    write("broken.json", "{");
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, const std::string& text) const { write_file(folder_ / name, text); }

  static void trained(const Words& words) {
    const Outcome outcome = run_attend(words);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }

  // Into a new folder, and over the run of a task: base are its words, shape those of the model that is there.
  void expect_untouched(const Words& base, const Words& shape, const std::vector<Refusal>& refusals) const {
    trained(base + Words{"--out", path("there")} + shape);
    const auto before = bytes_in(folder_ / "there");
    for (const auto& [words, message] : refusals) {
      const Outcome fresh = run_attend(base + Words{"--out", path("new/run")} + shape + words);
      EXPECT_EQ(fresh.code, 1) << message;
      EXPECT_NE(fresh.err.find(message), std::string::npos) << fresh.err;
      EXPECT_FALSE(fs::exists(folder_ / "new")) << message;
      const Outcome over = run_attend(base + Words{"--out", path("there"), "--overwrite"} + shape + words);
      EXPECT_EQ(over.code, 1) << message;
      EXPECT_EQ(bytes_in(folder_ / "there"), before) << message;
    }
  }
  Words task(const std::string& name) const { return toy_task(folder_, name, folder_ / "unused"); }

  fs::path folder_;
};

TEST_F(Refusals, OfATranslation) {
  const Words base = task("translation");
  expect_untouched(
      base, kTransformer,
      {{{"--source", path("one.txt")}, "lines"},
       {{"--source", path("nowhere")}, "cannot open"},
       {{"--valid-source", path("long.txt"), "--valid-target", path("long_too.txt")}, "to validate on"},
       {{"--source", path("long.txt"), "--target", path("long_too.txt")}, "to train on"},
       {{"--source", path("long.txt"), "--target", path("long.txt")}, "given as source and as target"},
       {{"--test-source", path("valid.en"), "--test-target", path("one.txt")}, "the test has 20 lines and 1"},
       {{"--tokenizer", path("broken.json")}, "broken.json"},
       {{"--freeze", "nothing"}, "fits no parameter"},
       {{"--heads", "3"}, "heads"}});
}

TEST_F(Refusals, OfALanguageModel) {
  const Words base = task("language-model");
  expect_untouched(base, kGpt,
                   {{{"--block", "20000"}, "fewer than a window of 20000"},
                    {{"--valid-text", path("one.txt"), "--text", path("nowhere")}, "cannot open"},
                    {{"--valid-text", path("nowhere")}, "cannot open"},
                    {{"--lines", "--prompt-end", "one two"}, "must be one token"},
                    {{"--tokenizer", path("broken.json")}, "broken.json"},
                    {{"--freeze", "nothing"}, "fits no parameter"}});
}

TEST_F(Refusals, OfAMaskedLanguageModel) {
  const Words base = task("masked-lm");
  expect_untouched(base, kBert,
                   {{{"--max-length", "2000", "--block", "1000"}, "fewer than a block"},
                    {{"--text", path("nowhere")}, "cannot open"},
                    {{"--block", "64"}, "'block' must be"},
                    {{"--tokenizer", path("broken.json")}, "broken.json"},
                    {{"--freeze", "nothing"}, "fits no parameter"}});
}

TEST_F(Refusals, OfHeads) {
  trained(task("masked-lm") + Words{"--out", path("bert")} + kBert);
  write("same.tsv", "label\tsentence\nlow\tone\nlow\ttwo\n");
  write("other.tsv", "label\tsentence\nneither\tone two\n");
  write("none.jsonl", R"({"question": "what", "context": "one two"})");
  const Words from = {"--from", path("bert")};
  expect_untouched(task("classify"), from,
                   {{{"--train", path("same.tsv")}, "the same label"},
                    {{"--valid", path("other.tsv")}, "neither"},
                    {{"--label-column", "nothing"}, "nothing"},
                    {{"--label-names", "a"}, "label_names"},
                    {{"--from", path("nowhere")}, "nowhere"},
                    {{"--freeze", "nothing"}, "fits no parameter"}});
  fs::remove_all(folder_ / "there");
  expect_untouched(task("tag"), from, {{{"--train", path("one.txt"), "--format", "conll"}, "one.txt"}});
  fs::remove_all(folder_ / "there");
  expect_untouched(task("answer"), from, {{{"--train", path("none.jsonl")}, "none.jsonl"}});
}

TEST_F(Refusals, OfImages) {
  const Words base = task("classify-images");
  for (const char* name : {"a", "b"}) write(std::string("none/") + name + "/1.png", "no image");
  write("alone/a/1.png", read_file(folder_ / "images/train/north-west/0.png"));
  expect_untouched(base, kVit,
                   {{{"--train", path("alone")}, "the same label"},
                    {{"--train", path("none"), "--valid", path("none")}, "1.png"},
                    {{"--train", path("none"), "--valid", path("none"), "--broken", "skip"}, "none of the 2 images"},
                    {{"--label-names", "a"}, "label_names"},
                    {{"--config", R"({"hidden_siz": 8})"}, "unknown key"},
                    {{"--from", path("nowhere")}, "nowhere"},
                    {{"--freeze", "nothing"}, "fits no parameter"}});
}

TEST_F(Refusals, OfCaptions) {
  const Words base = task("describe");
  fs::create_directories(folder_ / "empty");
  expect_untouched(base, kShowTell + kVit,
                   {{{"--train", path("broken.json")}, "broken.json"},
                    {{"--images", path("empty")}, "empty"},
                    {{"--tokenizer", path("broken.json")}, "broken.json"},
                    {{"--decoder-config", R"({"hiden": 8})"}, "hiden"},
                    {{"--encoder", path("nowhere")}, "nowhere"},
                    {{"--freeze", "nothing"}, "fits no parameter"}});
}

TEST_F(Refusals, OfADetector) {
  const Words base = task("detect");
  Json nothing = read_json(folder_ / "scenes/instances_train.json");
  nothing["annotations"] = Json::array();
  write("scenes/instances_none.json", nothing.dump());
  expect_untouched(base, kDetr + kDetrBackbone,
                   {{{"--train", path("broken.json")}, "broken.json"},
                    {{"--train", path("scenes/instances_none.json"), "--images", path("scenes/train")}, "not one box"},
                    {{"--images", path("nowhere")}, "nowhere"},
                    {{"--backbone", path("nowhere")}, "nowhere"},
                    {{"--config", R"({"d_modell": 8})"}, "unknown key"},
                    {{"--freeze", "nothing"}, "fits no parameter"}});
}

TEST_F(Refusals, OfADrawer) {
  const Words base = task("draw");
  for (const char* name : {"a", "b"}) write(std::string("none/") + name + "/1.png", "no image");
  expect_untouched(base, {},
                   {{{"--train", path("none"), "--valid", path("none")}, "1.png"},
                    {{"--train", path("none"), "--valid", path("none"), "--broken", "skip"}, "none of the 2 images"},
                    {{"--image-size", "32"}, "'image_size' is 32"},
                    {{"--feature-model", path("nowhere")}, "nowhere"},
                    {{"--freeze", "nothing"}, "fits no parameter"}});
}

}  // namespace
}  // namespace attend::test
