// attend train --look: watching changes nothing, what was recorded survives a resume, and the page can read it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/checkpoint/safetensors.h"
#include "attend/cli/program.h"
#include "attend/look/api/api.h"
#include "attend/look/api/run_reader.h"
#include "attend/tasks/answerer.h"
#include "attend/tasks/tagger.h"
#include "tests/tensor/tensors.h"
#include "tests/train/recipes/folder_bytes.h"
#include "tests/train/recipes/heads/toy_labels.h"
#include "tests/train/recipes/images/toy_images.h"
#include "tests/train/recipes/translation/toy_corpus.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;

void run_toy(const std::vector<std::string>& args) {
  std::istringstream in;
  std::ostringstream said, err;
  ASSERT_EQ(cli::run_program(args, {.in = in, .out = said, .err = err}), 0) << err.str();
}

class TrainLook : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    folder_ = scratch_folder("attend_train_look");
    write_toy_corpus(folder_, {.pairs = 300, .seed = 3});
    write_toy_labels(folder_, 60);
    if (GetParam() == std::string("classify-images")) write_toy_images(folder_);
    if (GetParam() != std::string("classify")) return;
    std::vector<std::string> args = toy_masked_training(folder_, folder_ / "start");
    args.insert(args.end(), {"--steps", "2"});
    run_toy(args);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void train(const std::string& out, std::initializer_list<const char*> more) const {
    std::vector<std::string> args = toy_training(folder_, folder_ / out, GetParam());
    if (GetParam() == std::string("language-model")) args = toy_language_training(folder_, folder_ / out);
    if (GetParam() == std::string("masked-lm")) args = toy_masked_training(folder_, folder_ / out);
    if (GetParam() == std::string("classify"))
      args = toy_head_training(folder_, "classify", ".tsv", folder_ / "start", folder_ / out);
    if (GetParam() == std::string("classify-images")) args = toy_image_training(folder_, folder_ / out);
    args.insert(args.end(), more.begin(), more.end());
    args.insert(args.end(), {"--validate-every", "10", "--log-every", "5", "--average", "1", "--schedule",
                             "inverse-square-root", "--warmup", "5"});
    run_toy(args);
  }
  // The flat buffers that decide the rest of a run.
  std::vector<float> masters(const std::string& out) const {
    return checkpoint::Safetensors::open((folder_ / out / "state.safetensors").string()).floats("master");
  }
  Json run(const std::string& out) const { return look::RunReader(folder_ / out).lines({}); }

  fs::path folder_;
};

TEST(RunReader, SaysThatTheRunHasEndedAndWhyItsLossIsHigh) {
  const fs::path folder = scratch_folder("attend_ended_run");
  write_file(folder / "recipe.json", R"({"steps": 10, "label_smoothing": 0.1})");
  look::RunReader run(folder);
  EXPECT_EQ(run.lines({}).at("label_smoothing").get<double>(), 0.1);
  EXPECT_FALSE(run.lines({}).contains("ended"));
  run.end();
  EXPECT_TRUE(run.lines({}).at("ended").get<bool>());
  fs::remove_all(folder);
}

// A chart of a run by the clock ends where the run will, not at the steps of its schedule.
TEST(RunReader, ByTheClockThereAreAsManyStepsAsThereIsTimeFor) {
  const fs::path folder = scratch_folder("attend_run_reader");
  write_file(folder / "recipe.json", R"({"steps": 10000, "minutes": 3})");
  write_file(folder / "log.jsonl", "");
  EXPECT_FALSE(look::RunReader(folder).lines({}).contains("steps"));
  write_file(folder / "log.jsonl", "{\"step\": 50, \"seconds\": 45}\n{\"step\": 50, \"averaged\": [50]}\n");
  const Json early = look::RunReader(folder).lines({});
  EXPECT_EQ(early["steps"], 200);
  EXPECT_EQ(early["minutes"], 3);
  write_file(folder / "log.jsonl", "{\"step\": 210, \"seconds\": 181}\n");
  EXPECT_EQ(look::RunReader(folder).lines({})["steps"], 210);
  write_file(folder / "recipe.json", R"({"steps": 10000, "minutes": 0})");
  EXPECT_EQ(look::RunReader(folder).lines({})["steps"], 10000);
  fs::remove_all(folder);
}

TEST_P(TrainLook, ChangesNothingAndSurvivesAResume) {
  train("plain", {"--steps", "20"});
  train("watched", {"--steps", "10", "--look", "--port", "0"});
  train("watched", {"--resume", "--steps", "20", "--look", "--port", "0"});
  EXPECT_EQ(masters("watched"), masters("plain"));

  const Json seen = run("watched");
  EXPECT_EQ(seen["steps"], 20);
  EXPECT_EQ(seen["log"].back()["step"], 20);
  std::vector<std::int64_t> steps;
  for (const Json& image : seen["look"]) steps.push_back(image["step"].get<std::int64_t>());
  ASSERT_GE(steps.size(), 3u);
  EXPECT_EQ(steps.front(), 0);
  EXPECT_EQ(steps.back(), 20);
  for (std::size_t i = 1; i < steps.size(); ++i) EXPECT_LT(steps[i - 1], steps[i]);

  // The same inputs every time; weights have moved; every row of an image sums to 1.
  const Json &first = seen["look"].front()["examples"], &last = seen["look"].back()["examples"];
  ASSERT_EQ(first.size(), 3u);
  EXPECT_EQ(first[0]["source"], last[0]["source"]);
  const Json &before = first[0]["attention"].back(), &after = last[0]["attention"].back();
  if (GetParam() == std::string("classify-images")) {
    EXPECT_EQ(first[0]["seen"], last[0]["seen"]);
    EXPECT_NE(before["heat"], after["heat"]);
    EXPECT_EQ(first[0]["labels"].size(), 4u);
    return;
  }
  EXPECT_NE(before["packed"], after["packed"]);
  EXPECT_EQ(before["rows"], after["rows"]);
  const auto cells =
      before["heads"].get<std::size_t>() * before["rows"].get<std::size_t>() * before["columns"].get<std::size_t>();
  EXPECT_EQ(before["packed"].get<std::string>().size(), (cells + 2) / 3 * 4);
}

TEST_P(TrainLook, IsReadWhileItGrows) {
  train("run", {"--steps", "10", "--look", "--port", "0"});
  look::RunReader reader(folder_ / "run");
  const std::size_t logs = reader.lines({})["logs"].get<std::size_t>();
  const std::string whole = read_file(folder_ / "run/log.jsonl");
  write_file(folder_ / "run/log.jsonl", whole + R"({"step": 11, "loss": 1}
{"step": 12, "lo)");
  const Json news = reader.lines({.log = logs});
  ASSERT_EQ(news["log"].size(), 1u);  // not what is half written
  EXPECT_EQ(news["log"][0]["step"], 11);
  write_file(folder_ / "run/log.jsonl", whole);  // the run went back
  EXPECT_EQ(reader.lines({})["logs"], logs);

  look::Api api({.run = &reader}, {.name = "run"});
  EXPECT_EQ(api.model()["kind"], "run");
  EXPECT_THROW(api.inspect({{"text", "a"}}), Error);
  const http::Response answer = api.handle({"POST", "/api/run", "localhost", "application/json", "{}"});
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(parse_json(answer.body, "answer")["logs"], logs);
  EXPECT_EQ(api.handle({"POST", "/api/run", "localhost", "application/json", R"({"log": "x"})"}).status, 400);

  // Runs to compare it with come by their names, from the line on that is asked for.
  look::RunReader other(folder_ / "run");
  look::Api both({.run = &reader, .others = {&other}}, {.name = "run"});
  const Json compared = both.run({{"log", 0}, {"others", Json::array({1})}});
  ASSERT_EQ(compared["others"].size(), 1u);
  EXPECT_EQ(compared["others"][0]["name"], "run");
  EXPECT_EQ(compared["others"][0]["log"].size(), logs - 1);
}

// The last image of a run has the answers of the model that the run left.
TEST(TrainLookHeads, SayWhatTheirCommandsSay) {
  const fs::path folder = scratch_folder("attend_train_look_heads");
  fs::create_directories(folder);
  write_toy_labels(folder, 60);
  std::vector<std::string> start = toy_masked_training(folder, folder / "start");
  start.insert(start.end(), {"--steps", "2"});
  run_toy(start);
  const auto last = [&](const char* task, const char* kind) {
    std::vector<std::string> args = toy_head_training(folder, task, kind, folder / "start", folder / task);
    args.insert(args.end(), {"--steps", "6", "--average", "1", "--look", "--port", "0"});
    run_toy(args);
    const Json images = look::RunReader(folder / task).lines({})["look"];
    return images.empty() ? Json::array() : images.back()["examples"];
  };
  const Json tagged = last("tag", ".conll");
  ASSERT_EQ(tagged.size(), 3u);
  const tasks::Tagger tagger(folder / "tag", cpu());
  for (const Json& example : tagged) {
    const std::vector<std::string> lines = {example["source"]["text"].get<std::string>()};
    std::string expected, truth;
    const tasks::TaggedLine words = tagger.tag(lines)[0];
    const auto add = [](std::string& to, const std::string& word, const std::string& label) {
      to += (to.empty() ? "" : " · ") + word + " " + label;
    };
    for (const auto& [word, span, label, probability] : words) {
      if (label != "O") add(expected, word, label);
      if ((std::ranges::find(number_words(), word) - number_words().begin()) % 2 == 0) add(truth, word, "B-ODD");
    }
    EXPECT_EQ(example["text"], expected.empty() ? "all O" : expected);
    EXPECT_EQ(example["target"]["text"], truth);
  }
  const Json answered = last("answer", ".jsonl");
  ASSERT_EQ(answered.size(), 3u);
  const tasks::Answerer answerer(folder / "answer", cpu());
  std::istringstream valid(read_file(folder / "valid.jsonl"));
  std::string line;
  for (const Json& example : answered) {
    ASSERT_TRUE(std::getline(valid, line));
    const Json asked = parse_json(line, "valid.jsonl");
    EXPECT_EQ(example["text"],
              answerer.answer(asked["question"].get<std::string>(), asked["context"].get<std::string>())[0].text);
    EXPECT_EQ(example["target"]["text"], asked["answers"]["text"][0]);
  }
  fs::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Models, TrainLook,
                         testing::Values("transformer", "rnn-attention", "language-model", "masked-lm", "classify",
                                         "classify-images"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace attend::test
