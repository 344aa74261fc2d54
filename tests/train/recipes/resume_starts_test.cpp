// Every recipe from every start it can have: what a run writes as recipe.json is read again as the same recipe, and the
// run goes on from it, without the folder that it started from.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/cli/support/train_tasks.h"
#include "attend/train/recipes/captions/caption_recipe.h"
#include "attend/train/recipes/detection/detect_recipe.h"
#include "attend/train/recipes/images/image_recipe.h"
#include "tests/cli/run_attend.h"
#include "tests/train/recipes/folder_bytes.h"
#include "tests/train/recipes/toy_tasks.h"
#include "tests/train/recipes/translation/toy_corpus.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;

struct Start {
  std::string name, task;
  Words words;                            // behind those of the task
  std::string from_task = {}, flag = {};  // trained first, and the flag that names its folder; empty: from scratch
  Words from_words = {};
  bool needed = false;  // by the resumed run, too
};

void PrintTo(const Start& start, std::ostream* out) { *out << start.task << " " << start.name; }

std::vector<Start> starts() {
  const std::string translation = "translation", language = "language-model", masked = "masked-lm",
                    images = "classify-images", captions = "describe";
  const Words vit_conv = Words{"--model", "vit_conv"} + kVit, roberta = Words{"--model", "roberta"} + kBert;
  std::vector<Start> all = {
      {"Transformer", translation, kTransformer},
      {"RnnAttention", translation, Words{"--model", "rnn-attention"} + kRnn},
      {"RnnPlain", translation, Words{"--model", "rnn-plain"} + kRnn},
      {"FromTransformer", translation, {"--dropout", "0.2"}, translation, "--from", kTransformer},
      {"FromRnn", translation, {}, translation, "--from", Words{"--model", "rnn-attention"} + kRnn},
      {"FromMarian", translation, {"--bleu-sentences", "0", "--select", "loss"}, "marian", "--from", {}},
      {"Gpt", language, kGpt},
      {"GptFrom", language, {}, language, "--from", kGpt},
      {"LanguageTanh", language, kTextRnn + Words{"--cell", "tanh"}},
      {"LanguageLstm", language, kTextRnn},
      {"LanguageFromGru", language, {"--dropout", "0.1"}, language, "--from", kTextRnn + Words{"--cell", "gru"}},
      {"RnnTanh", translation, Words{"--model", "rnn-attention", "--cell", "tanh"} + kRnn},
      {"GptLines", language, kGpt + Words{"--lines"}},
      {"Bert", masked, kBert},
      {"Roberta", masked, roberta + Words{"--vocabulary-size", "280"}},
      {"BertFrom", masked, {}, masked, "--from", kBert},
      {"RobertaFrom", masked, {}, masked, "--from", roberta + Words{"--vocabulary-size", "280"}},
      {"Classify", "classify", {}, masked, "--from", kBert},
      {"ClassifyScratch", "classify", Words{"--preset", "tiny"} + kBert},
      {"ClassifyRnn", "classify", kTextRnn + Words{"--cell", "gru"}},
      {"ClassifyFromRnn", "classify", {}, language, "--from", kTextRnn},
      {"Regression", "classify", {"--regression"}, masked, "--from", kBert},
      {"Tag", "tag", {}, masked, "--from", roberta + Words{"--vocabulary-size", "280"}},
      {"Answer", "answer", {}, masked, "--from", kBert},
      {"DetrScratch", "detect", kDetr + kDetrBackbone},
      {"DetrFrom", "detect", {}, "detect", "--from", kDetr + kDetrBackbone},
      {"DetrBackbone", "detect", kDetr, images, "--backbone", kResnet},
      {"Draw", "draw", {}},
      {"DrawJudged", "draw", {"--drawings", "8"}, images, "--feature-model", kVit, true}};
  for (const auto& [name, shape] : {std::pair<std::string, Words>{"Vit", kVit},
                                    {"VitConv", vit_conv},
                                    {"Resnet", kResnet},
                                    {"Swin", kSwin},
                                    {"Mvit", kMvit},
                                    {"MvitV1", kMvitV1},
                                    {"Hybrid", kHybrid}}) {
    all.push_back({name, images, shape});
    all.push_back({name + "From", images, {}, images, "--from", shape});
    all.push_back({"Captions" + name, captions, kShowTell + shape});
    all.push_back({"CaptionsOf" + name, captions, kWriter, images, "--encoder", shape});
  }
  return all;
}

class ResumeStarts : public testing::TestWithParam<Start> {
 protected:
  void SetUp() override { folder_ = scratch_folder("attend_resume_starts"); }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  Words training(const std::string& task, const Words& shape, const std::string& out) const {
    return toy_task(folder_, task, folder_ / out) + shape;
  }
  static void run(const Words& words) {
    const Outcome outcome = run_attend(words);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }

  fs::path folder_;
};

TEST_P(ResumeStarts, GoesOnFromItsOwnRecipe) {
  const Start& start = GetParam();
  Words words = training(start.task, start.words, "run");
  if (start.from_task == "marian") write_toy_marian(folder_ / "start");
  if (!start.flag.empty() && start.from_task != "marian") run(training(start.from_task, start.from_words, "start"));
  if (!start.flag.empty()) words = words + Words{start.flag, path("start")};
  if (start.name == "Regression")
    for (std::string& word : words)
      if (word.ends_with(".tsv")) word.replace(word.size() - 3, 3, "csv");
  run(words);

  const Json recipe = read_json(folder_ / "run/recipe.json");
  const cli::TrainedTask& task = cli::trained_task(recipe, "recipe.json");
  EXPECT_EQ(task.training(recipe, "recipe.json").recipe, recipe);
  if (!start.needed && !start.flag.empty()) fs::rename(folder_ / "start", folder_ / "gone");
  run({"train", "--resume", "--out", path("run"), "--steps", "3"});
  std::istringstream lines(read_file(folder_ / "run/log.jsonl"));
  std::int64_t last = 0;
  for (std::string line; std::getline(lines, line);) last = Json::parse(line).at("step").get<std::int64_t>();
  EXPECT_EQ(last, 3);
}

INSTANTIATE_TEST_SUITE_P(Recipes, ResumeStarts, testing::ValuesIn(starts()),
                         [](const auto& info) { return info.param.name; });

std::string refusal(const std::function<void()>& read) {
  try {
    read();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

// Runs of older versions wrote all settings, those that their model has no use for as well.
TEST(UnusedSettings, AreRefusedButForThoseThatAnOlderRunWrote) {
  const auto image = [](const Json& settings) { train::resolve_image_recipe(settings, "recipe"); };
  const auto caption = [](const Json& settings) { train::resolve_caption_recipe(settings, "recipe"); };
  const auto detect = [](const Json& settings) { train::resolve_detect_recipe(settings, "recipe"); };
  Json older = write_fields(train::ImageRecipe());
  older["model"] = "swin";
  EXPECT_EQ(refusal([&] { image(older); }), "");
  older["width"] = 8;
  EXPECT_EQ(refusal([&] { image(older); }), "recipe: 'width' is for vit; give a swin its shape in 'config'");
  Json describing = write_fields(train::CaptionRecipe());
  describing["model"] = "resnet";
  EXPECT_EQ(refusal([&] { caption(describing); }), "");
  EXPECT_EQ(refusal([&] {
              caption({{"model", "resnet"}, {"heads", 4}});
            }),
            "recipe: 'heads' is for vit; give a resnet its shape in 'config'");
  Json detecting = write_fields(train::DetectRecipe());
  detecting["from"] = "somewhere";
  EXPECT_EQ(refusal([&] { detect(detecting); }), "");
  EXPECT_EQ(refusal([&] {
              detect({{"from", "somewhere"}, {"queries", 25}});
            }),
            "recipe: 'queries' is decided by the model in 'from'; 'config' changes it");
  EXPECT_FALSE(to_json(train::resolve_detect_recipe(detecting, "recipe")).contains("queries"));
}

}  // namespace
}  // namespace attend::test
