// Automatic settings: pure choices, budgets by planned steps, data that is held out, and runs that repeat and resume.
#include "attend/train/recipes/automatic/automatic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/data/synthetic/scenes_folder.h"
#include "attend/train/recipes/automatic/plan.h"
#include "attend/train/recipes/held_out.h"
#include "tests/cli/run_attend.h"
#include "tests/train/recipes/folder_bytes.h"
#include "tests/train/recipes/heads/toy_labels.h"
#include "tests/train/recipes/translation/toy_corpus.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;
using train::Budget, train::Machine, train::Plan, train::Timing;

data::DataFacts pairs_of(std::int64_t count, std::int64_t distinct, std::int64_t once) {
  data::DataFacts facts;
  facts.data.kind = data::DataKind::parallel_text, facts.examples = count, facts.noun = "pairs";
  data::TextFacts side;
  side.characters = {.count = count, .least = 5, .median = 30, .most95 = 50, .most = 60, .mean = 30};
  side.words = {.count = count, .least = 1, .median = 6, .most95 = 9, .most = 12, .mean = 6};
  side.distinct_words = distinct, side.once = once, side.distinct_characters = 40, side.bytes = 31 * count;
  facts.texts = {side, side};
  return facts;
}

std::int64_t number(const Plan& plan, const char* key) { return plan.settings[key].get<std::int64_t>(); }

TEST(AutomaticPlan, TheSpeedAndTheTimeDecideTheSize) {
  const data::DataFacts facts = pairs_of(100'000, 40'000, 20'000);
  const Budget budget{.seconds = 600};
  const Plan slow = train::plan_translation({facts, budget, Machine{.operations = 1e9}});
  const Plan fast = train::plan_translation({facts, budget, Machine{.operations = 1e13}});
  EXPECT_LT(number(slow, "width"), number(fast, "width"));
  EXPECT_LT(slow.step_operations, fast.step_operations);
  // The data decides, too: a fast machine does not give 4,000 pairs a large model.
  EXPECT_EQ(number(train::plan_translation({pairs_of(4000, 2000, 1500), budget, Machine{.operations = 1e13}}), "width"),
            128);
}

TEST(AutomaticPlan, TokensByTheWords) {
  const Budget budget;
  const Machine machine;
  const Plan open = train::plan_translation({pairs_of(4000, 2000, 1500), budget, machine});
  const Plan closed = train::plan_translation({pairs_of(4000, 100, 0), budget, machine});
  const Plan many = train::plan_translation({pairs_of(500'000, 90'000, 40'000), budget, machine});
  EXPECT_LT(number(open, "vocabulary_size"), 500);          // pieces of words
  EXPECT_GE(number(closed, "vocabulary_size"), 260 + 200);  // every word of both sides
  EXPECT_EQ(number(many, "vocabulary_size"), 8000);
}

TEST(AutomaticPlan, NumbersDoNotMakeTheWordsOpen) {
  data::DataFacts facts = pairs_of(4000, 2000, 1500);
  const Budget budget;
  EXPECT_EQ(train::plan_translation({facts, budget, Machine{}}).settings["single_digits"], Json(false));
  for (data::TextFacts& side : facts.texts) side.digits = 1900, side.once_digits = 1500;
  const Plan numbers = train::plan_translation({facts, budget, Machine{}});
  EXPECT_EQ(numbers.settings["single_digits"], Json(true));
  EXPECT_GE(number(numbers, "vocabulary_size"), 260 + 4 * 200);  // each of the 100 words of a side is a token
}

TEST(AutomaticPlan, TokensOfALanguageModelByItsText) {
  const auto vocabulary = [](std::int64_t bytes) {
    data::DataFacts facts = pairs_of(1000, 500, 100);
    facts.texts[0].bytes = bytes;
    return number(train::plan_language({facts, Budget{}, Machine{}}), "vocabulary_size");
  };
  EXPECT_EQ(vocabulary(50'000), 0);  // bytes
  EXPECT_EQ(vocabulary(1'000'000), 512);
  EXPECT_LT(vocabulary(1'000'000), vocabulary(20'000'000));
}

TEST(AutomaticPlan, DetectorsStartFromABundledOneThatHasEnoughQueries) {
  data::DataFacts facts;
  facts.data.kind = data::DataKind::objects, facts.examples = 170, facts.noun = "images";
  facts.image_width = facts.image_height = {.count = 170, .least = 96, .median = 200, .most95 = 300, .most = 300};
  facts.boxes = {.count = 170, .least = 1, .median = 2, .most95 = 6, .most = 8, .mean = 2.5};
  const Machine machine{.bundled = {"detr-scenes"}};
  const Plan tuned = train::plan_detection({facts, Budget{}, machine});
  EXPECT_EQ(tuned.settings["from"], Json("detr-scenes"));
  facts.boxes.most = 40;
  const Plan crowded = train::plan_detection({facts, Budget{}, machine});
  EXPECT_FALSE(crowded.settings.contains("from"));
  EXPECT_GE(number(crowded, "queries"), 40);
}

TEST(AutomaticPlan, MaskedWordsOfAnotherScriptStartFromScratch) {
  data::DataFacts facts = pairs_of(1000, 500, 100);
  const Machine machine{.bundled = {"bert"}};
  EXPECT_EQ(train::plan_masked({facts, Budget{}, machine}).settings["from"], Json("bert"));
  facts.texts[0].bytes *= 2;  // two bytes a character
  const Plan other = train::plan_masked({facts, Budget{}, machine});
  EXPECT_FALSE(other.settings.contains("from"));
  EXPECT_GE(number(other, "vocabulary_size"), 1000);
}

TEST(AutomaticPlan, StepsStayWithinTheBudget) {
  for (const double seconds : {20.0, 60.0, 600.0, 3600.0})
    for (const Timing timing : {Timing{0.01, 0.1}, Timing{0.5, 3}, Timing{4, 60}}) {
      Plan plan = train::plan_translation({pairs_of(4000, 2000, 1500), Budget{.seconds = seconds}, Machine{}});
      train::settle_steps(plan, Budget{.seconds = seconds}, timing);
      const std::int64_t steps = number(plan, "steps"), every = number(plan, "validate_every");
      EXPECT_GE(steps, 1);
      EXPECT_LE(steps, plan.wanted_steps);
      EXPECT_GE(every, 1);
      EXPECT_EQ(plan.settings["patience"], Json(5));
      if (timing.validation >= seconds / 10) continue;  // two validations are made however long they take
      const double planned =
          static_cast<double>(steps) * timing.step + static_cast<double>(steps / every) * timing.validation;
      EXPECT_LE(planned, seconds) << timing.step;
    }
}

TEST(AutomaticPlan, FewImagesStartFromABundledModel) {
  data::DataFacts facts;
  facts.data.kind = data::DataKind::labelled_images, facts.examples = 180, facts.noun = "images";
  facts.image_width =
      facts.image_height = {.count = 180, .least = 96, .median = 96, .most95 = 96, .most = 96, .mean = 96};
  const Budget budget;
  const Machine probed{.probed = {{.model = "vit-cifar10", .accuracy = 0.8, .pixels = {{"mean", "0.5,0.5,0.5"}}},
                                  {.model = "other", .accuracy = 0.5}}};
  const Plan tuned = train::plan_images({facts, budget, probed});
  EXPECT_EQ(tuned.settings["from"], Json("vit-cifar10"));
  EXPECT_EQ(tuned.settings["mean"], Json("0.5,0.5,0.5"));  // as the model was trained
  EXPECT_EQ(number(tuned, "image_size"), 48);
  EXPECT_NE(tuned.table[0].why.find("80 % of held-out images (other: 50 %)"), std::string::npos) << tuned.table[0].why;
  EXPECT_TRUE(tuned.settings.contains("drop_path"));
  const Machine plain{.probed = {{.model = "a-resnet9", .drops_layers = false}}};
  EXPECT_FALSE(train::plan_images({facts, budget, plain}).settings.contains("drop_path"));
  EXPECT_FALSE(train::plan_images({facts, budget, Machine{}}).settings.contains("from"));
  EXPECT_THROW(train::plan_texts({pairs_of(100, 10, 0), budget, Machine{}}), Error);  // nothing to start from
}

TEST(AutomaticProbe, TellsFeaturesApartThatAre) {
  std::vector<std::vector<float>> good, bad;
  std::vector<std::int32_t> labels;
  for (int i = 0; i < 60; ++i) {
    const int label = i / 20;
    const float noise = 0.1f * static_cast<float>((i * 7) % 5);
    good.push_back({label == 0 ? 1 + noise : noise, label == 1 ? 1 - noise : -noise, noise});
    bad.push_back({noise, 1, static_cast<float>((i * 11) % 3)});
    labels.push_back(label);
  }
  EXPECT_GT(train::linear_accuracy(good, labels), 0.95);
  EXPECT_LT(train::linear_accuracy(bad, labels), 0.6);
}

TEST(AutomaticPlan, EveryRowNamesAFlag) {
  Plan plan = train::plan_language({pairs_of(1000, 500, 100), Budget{}, Machine{}});
  train::settle_steps(plan, Budget{}, {0.1, 1});
  for (const train::Chosen& row : plan.table) EXPECT_TRUE(row.flag.starts_with("--")) << row.what;
  const std::string text = train::table_text(plan.table);
  EXPECT_EQ(std::ranges::count(text, '\n'), static_cast<std::ptrdiff_t>(plan.table.size()) + 1);
}

TEST(AutomaticTiming, IsTheMedianOfTheLaterSteps) {
  const Timing timing = train::timing_from_log(
      "{\"step\": 1, \"loss\": 5, \"seconds\": 3}\n{\"step\": 2, \"loss\": 5, \"seconds\": 5}\n"
      "{\"step\": 3, \"loss\": 5, \"seconds\": 6}\n{\"step\": 4, \"loss\": 5, \"seconds\": 7}\n"
      "{\"step\": 5, \"loss\": 5, \"seconds\": 8.5}\n"
      "{\"step\": 5, \"validation\": {\"loss\": 4}, \"seconds\": 11}\n");
  EXPECT_DOUBLE_EQ(timing.step, 1);
  EXPECT_DOUBLE_EQ(timing.validation, 2.5);
  EXPECT_THROW(train::timing_from_log(""), Error);
}

TEST(HeldOut, TextsThatComeTwiceStayInTheTraining) {
  const std::vector<std::string_view> texts = {"a", "b", "a", "c", "d", "e", "b", "f"};
  const std::vector<bool> held = train::held_out(texts, 0.5, 3);
  EXPECT_EQ(std::ranges::count(held, true), 4);
  for (const std::size_t i : {0, 1, 2, 6}) EXPECT_FALSE(held[i]) << i;
  EXPECT_EQ(held, train::held_out(texts, 0.5, 3));
  EXPECT_EQ(std::ranges::count(train::held_out(texts, 0.01, 1), true), 1);  // at least one
}

class Automatic : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = scratch_folder("attend_automatic");
    fs::create_directories(folder_);
    write_toy_corpus(folder_, {.pairs = 120});
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  fs::path folder_;
};

TEST_F(Automatic, FilesAloneTrainAndTheRecipeRepeatsTheRun) {
  const Outcome trained =
      run_attend({"train", path("train.en"), path("train.fr"), "--out", path("a"), "--minutes", "0.02"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.err.find("two text files, line by line, 120 pairs"), std::string::npos) << trained.err;
  EXPECT_NE(trained.err.find("--vocabulary-size"), std::string::npos);
  EXPECT_NE(trained.out.find("Worst of the validation data:"), std::string::npos) << trained.out;
  EXPECT_NE(trained.out.find("attend look --model"), std::string::npos);
  EXPECT_FALSE(fs::exists(path("a.timing")));
  const Json recipe = read_json(path("a") + "/recipe.json");
  EXPECT_GT(recipe["steps"].get<std::int64_t>(), 0);
  EXPECT_EQ(recipe["minutes"].get<double>(), 0);  // by steps, so that it repeats
  EXPECT_EQ(recipe["source"].get<std::string>(), path("train.en"));
  // The same from its recipe, and in two parts.
  ASSERT_EQ(run_attend({"train", path("a") + "/recipe.json", "--out", path("b")}).code, 0);
  EXPECT_EQ(read_file(path("a") + "/model.safetensors"), read_file(path("b") + "/model.safetensors"));
  const Outcome again = run_attend({"train", "--resume", "--out", path("a")});
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(read_file(path("a") + "/model.safetensors"), read_file(path("b") + "/model.safetensors"));
}

TEST_F(Automatic, ARunInPartsIsTheSame) {
  // The paper's schedule does not depend on the number of steps, so a shorter run is the beginning of a longer one.
  const Outcome trained = run_attend({"train",
                                      path("train.en"),
                                      path("train.fr"),
                                      "--out",
                                      path("chosen"),
                                      "--auto",
                                      "--width",
                                      "16",
                                      "--heads",
                                      "2",
                                      "--hidden",
                                      "16",
                                      "--encoder-layers",
                                      "1",
                                      "--decoder-layers",
                                      "1",
                                      "--threads",
                                      "1",
                                      "--schedule",
                                      "inverse-square-root",
                                      "--minutes",
                                      "0.02"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  Json recipe = read_json(path("chosen") + "/recipe.json");
  EXPECT_EQ(recipe["width"], Json(16));  // as given
  recipe["steps"] = 8, recipe["validate_every"] = 4, recipe["save_every"] = 4, recipe["patience"] = 0;
  write_file(path("eight.json"), recipe.dump());
  ASSERT_EQ(run_attend({"train", path("eight.json"), "--out", path("whole")}).code, 0);
  ASSERT_EQ(run_attend({"train", path("eight.json"), "--out", path("parts"), "--steps", "4"}).code, 0);
  const Outcome resumed = run_attend({"train", "--resume", "--out", path("parts"), "--steps", "8"});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(read_file(path("whole") + "/model.safetensors"), read_file(path("parts") + "/model.safetensors"));
}

TEST_F(Automatic, ATableOfPairsAndATextFile) {
  std::string table = "en,fr\n";
  for (int i = 0; i < 60; ++i) table += "one two " + std::to_string(i) + ",un deux " + std::to_string(i) + "\n";
  write_file(path("pairs.csv"), table);
  const Outcome pairs = run_attend({"train", path("pairs.csv"), "--out", path("p"), "--minutes", "0.01"});
  ASSERT_EQ(pairs.code, 0) << pairs.err;
  EXPECT_NE(pairs.err.find("from 'en' to 'fr'"), std::string::npos) << pairs.err;
  const Outcome text = run_attend(
      {"train", "--task", "language-model", "--text", path("train.en"), "--out", path("t"), "--minutes", "0.01"});
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_EQ(read_json(path("t") + "/recipe.json")["vocabulary_size"], Json(0));
  EXPECT_EQ(text.out.find("per character"), std::string::npos) << text.out;
  // Losses of longer tokens are said per character, too.
  const Outcome pieces = run_attend(
      {"train", path("train.en"), "--out", path("u"), "--minutes", "0.001", "--auto", "--vocabulary-size", "300"});
  ASSERT_EQ(pieces.code, 0) << pieces.err;
  EXPECT_NE(pieces.out.find("per character)"), std::string::npos) << pieces.out;
}

TEST_F(Automatic, ScenesAndMaskedWords) {
  data::write_scenes(folder_ / "scenes", {.scene = {.size = 32, .objects = 1}, .count = 24, .unseen = 4});
  const auto trained = [&](const std::vector<std::string>& data, const std::string& out, const char* task) {
    std::vector<std::string> words = {"train", "--minutes", "0.001", "--out", path(out), "--auto", "--batch", "2"};
    words.insert(words.end(), data.begin(), data.end());
    const Outcome outcome = run_attend(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(outcome.err.find("First examples, as they are read:\n  "), std::string::npos) << outcome.err;
    const Json recipe = read_json(path(out) + "/recipe.json");
    EXPECT_EQ(recipe["task"], Json(task));
    return recipe;
  };
  EXPECT_EQ(trained({path("scenes/instances_train.json"), "--image-size", "32"}, "d", "detect")["from"],
            Json("detr-scenes"));
  EXPECT_EQ(trained({path("scenes/captions_train.json"), "--image-size", "32"}, "c", "describe")["encoder"],
            Json("vit-cifar10"));
  EXPECT_EQ(trained({path("train.en"), "--task", "masked-lm"}, "m", "masked-lm")["from"], Json("bert"));
}

TEST_F(Automatic, AShareStandsForValidationFilesBesideOtherFlags) {
  write_file(path("pairs.csv"), "en,fr\na b,c d\nb a,d c\na a,c c\nb b,d d\n");
  const Outcome table = run_attend({"train", "--task", "translation", "--pairs", path("pairs.csv"), "--valid-share",
                                    "0.3", "--out", path("s"), "--steps", "2", "--width", "16", "--heads", "2",
                                    "--hidden", "16", "--vocabulary-size", "270"});
  EXPECT_EQ(table.code, 0) << table.err;
}

TEST_F(Automatic, FlagsThatSayHowToTrainKeepTheirMeaning) {
  const Outcome refused = run_attend(
      {"train", "--source", path("train.en"), "--target", path("train.fr"), "--steps", "3", "--out", path("m")});
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("needs --valid-source and --valid-target"), std::string::npos) << refused.err;
  const Outcome missing =
      run_attend({"train", "--source", path("none.en"), "--target", path("train.fr"), "--out", path("m")});
  EXPECT_EQ(missing.code, 1);
  EXPECT_NE(missing.err.find("cannot open"), std::string::npos) << missing.err;
  const Outcome both =
      run_attend({"train", path("train.en"), path("train.fr"), "--quick", "--thorough", "--out", path("m")});
  EXPECT_EQ(both.code, 1);
  const Outcome other = run_attend({"train", path("train.en"), "--task", "classify", "--out", path("m")});
  EXPECT_NE(other.err.find("is data for --task language-model"), std::string::npos) << other.err;
}

}  // namespace
}  // namespace attend::test
