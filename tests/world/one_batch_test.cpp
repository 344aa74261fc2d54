// Every task by ranks that are threads of this process: with a batch each they learn what one learns from all of them
// in one batch, and they judge a model to the same numbers.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "attend/backends.h"
#include "attend/base/json.h"
#include "attend/data/images/labelled_images.h"
#include "attend/tasks/detector.h"
#include "attend/train/recipes/detection/detect_task.h"
#include "attend/train/recipes/drawing/frechet_evaluator.h"
#include "tests/cli/run_attend.h"
#include "tests/train/recipes/folder_bytes.h"
#include "tests/world/states.h"
#include "tests/world/thread_world.h"
#include "tests/world/toy_runs.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

// The program as one rank; who cannot go on ends the test, because the others would wait.
void run_as(world::World& world, const Words& words) {
  std::istringstream in;
  std::ostringstream out, err;
  const int code = cli::run_program(words, {.in = in, .out = out, .err = err, .world = &world});
  if (code == 0) return;
  std::cerr << err.str() << std::endl;
  std::_Exit(1);
}

class OneBatch : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = scratch_folder("attend_one_batch");
    toys_ = ToyRuns(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void run(int ranks, const Words& words) {
    if (ranks == 1) return run_as(world::alone(), words);
    in_world(ranks, [&](world::World& world) { run_as(world, words); });
  }
  Words toy(const std::string& task, const std::string& out, const Words& more) {
    if ((task == "classify" || task == "tag") && !fs::exists(folder_ / "start"))
      run(1, ToyRuns::with(toys_.words("masked-lm", "start"), {"--steps", "1", "--average", "1"}));
    return ToyRuns::with(ToyRuns::with(toys_.words(task, out), {"--average", "1", "--threads", "1"}), more);
  }
  // Between two ranks with a batch each and one with both in one.
  double apart(const std::string& task, const Words& settings, const Words& for_two = {}) {
    const std::string name = task + std::to_string(++number_);
    const Words few = ToyRuns::with(settings, {"--steps", "3", "--learning-rate", "1e-3"});
    run(2, ToyRuns::with(toy(task, name + "two", few), ToyRuns::with(for_two, {"--batch", "4"})));
    run(1, ToyRuns::with(toy(task, name + "one", few), {"--batch", "8"}));
    const double largest = difference_of_states(folder_ / (name + "two"), folder_ / (name + "one"));
    std::cout << task << (for_two.empty() ? "" : " " + for_two[0]) << ": largest difference " << largest << "\n";
    return largest;
  }

  fs::path folder_;
  ToyRuns toys_;
  int number_ = 0;
};

// Statistics of batch norm over all ranks, and their gradients.
TEST_F(OneBatch, IsSharedOutWithBatchNorm) {
  EXPECT_LT(apart("resnet", {}, {"--sync-batch-norm"}), 2e-3);
  EXPECT_GT(apart("resnet", {}), 1e-2) << "each has statistics of its own";
  EXPECT_LT(apart("draw", {}, {"--sync-batch-norm"}), 2e-3);
}

// Losses that are means of several things: of boxes and of queries, of words and of images.
TEST_F(OneBatch, IsSharedOutWhateverALossIsAMeanOf) {
  EXPECT_LT(apart("detect", {"--dropout", "0"}, {"--sync-batch-norm"}), 2e-3);
  EXPECT_LT(apart("describe", {"--decoder", "show-attend-tell", "--dropout", "0", "--decoder-config",
                               R"({"width": 16, "hidden": 16, "attention": 8, "regularizer": 1, "dropout": 0})"}),
            2e-3);
  for (const char* task : {"classify", "tag"}) EXPECT_LT(apart(task, {"--dropout", "0"}), 2e-3) << task;
}

// A step so small that it changes nothing: what is judged are the same weights. Of models with batch norms it changes
// the running statistics, so that those come below.
TEST_F(OneBatch, IsJudgedToTheSameNumbers) {
  const auto judged = [&](const std::string& name) {
    std::string line;
    std::istringstream log(read_file(folder_ / name / "log.jsonl"));
    for (std::string each; std::getline(log, each);)
      if (each.find("\"validation\"") != std::string::npos) line = each;
    return parse_json(line, "log").at("validation").dump();
  };
  const std::string en = (folder_ / "train.en").string(), fr = (folder_ / "train.fr").string();
  const std::vector<std::pair<std::string, Words>> tasks = {
      {"transformer", {"--valid-source", en, "--valid-target", fr}},
      {"language-model", {"--valid-text", en}},
      {"masked-lm", {"--batch", "4"}},
      {"classify", {"--batch", "4"}},
      {"tag", {"--batch", "4"}},
      {"classify-images", {"--batch", "4"}},
      {"describe", {"--batch", "2"}}};
  for (const auto& [task, more] : tasks) {
    const Words once = ToyRuns::with(more, {"--steps", "1", "--learning-rate", "1e-30"});
    run(1, toy(task, task + "one", once));
    run(3, toy(task, task + "three", once));
    EXPECT_EQ(judged(task + "one"), judged(task + "three")) << task;
  }
}

TEST_F(OneBatch, BoxesAreJudgedToTheSameNumbers) {
  run(1, toy("detect", "detr", {"--steps", "2"}));
  const auto verdict_in = [&](world::World& world) {
    const auto backend = open_backend("cpu", {.threads = 1});
    const tasks::Detector detector(folder_ / "detr", *backend);
    data::DetectionSet set(folder_ / "scenes/instances_valid.json", {});
    set.use_classes(detector.labels());
    data::DetectionOptions options;
    options.image_size = 32, options.workers = 1;
    data::ImageCache reader(data::images_of(set), options.reading());
    data::ValidationDetections images({set, reader, {0, 1, 2, 3, 4}}, options, 2);
    return train::DetectionEvaluator(detector.model(), *backend, DType::f32)(images, world).json().dump();
  };
  const std::string one = verdict_in(world::alone());
  EXPECT_NE(one.find("\"images\":5"), std::string::npos) << one;
  in_world(3, [&](world::World& world) { EXPECT_EQ(verdict_in(world), one); });
}

TEST_F(OneBatch, DrawingsAreJudgedToTheSameNumbers) {
  run(1, toy("classify-images", "judge", {"--steps", "2"}));
  const auto verdict_in = [&](world::World& world) {
    const auto backend = open_backend("cpu", {.threads = 1});
    const data::LabelledImages images((folder_ / "images/valid").string());
    models::SaganConfig config;
    config.noise_size = 8, config.generator_widths = {8, 8, 8}, config.discriminator_widths = {8, 8};
    config.attention_stage = 1, config.labels = images.classes();
    models::Sagan model(config);
    const nn::Parameters generator(*backend, model.generator_parameters(), {});
    const nn::Parameters discriminator(*backend, model.discriminator_parameters(), {});
    train::FrechetEvaluator judge(folder_ / "judge", *backend, config.labels);
    judge.see(images, {0, 1, 8, 9, 16, 17, 24, 25});
    const train::FrechetEvaluator::Verdict verdict = judge(model, DType::f32, 150, world);
    return std::vector<double>{verdict.distance, verdict.recognised, verdict.variety_of[0], verdict.recognised_of[3]};
  };
  const std::vector<double> one = verdict_in(world::alone());
  EXPECT_GT(one[0], 0);
  in_world(3, [&](world::World& world) { EXPECT_EQ(verdict_in(world), one); });
}

}  // namespace
}  // namespace attend::test
