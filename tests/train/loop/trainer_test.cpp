// What the loop offers beyond one loss and one optimiser, against the same steps done by hand in double: losses by
// name, a stage on the host between captured ones, learners that take turns, items that are no tokens; and that a run
// of each goes on to the same bits when it was stopped.
#include "attend/train/loop/trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <sstream>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/os.h"
#include "attend/checkpoint/safetensors.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/reduce.h"
#include "tests/tensor/tensors.h"
#include "tests/train/recipes/folder_bytes.h"

namespace attend::test {
namespace {

constexpr std::int64_t kSize = 4;
constexpr double kLearningRate = 0.05;

struct Point {
  nn::Parameter at{{kSize}, {nn::Init::ones}};
  std::string name;
  template <class Visitor>
  void visit(Visitor&& v) {
    v(name, at);
  }
};

Tensor square(const Tensor& x) { return ops::mean(ops::multiply(x, x), 0); }

// x is drawn to `pull`, of which the host knows the sign: it looks at x in every step.
class Pulled : public train::Task {
 public:
  Pulled(Backend& backend, bool host) : backend_(backend), host_(host) {
    seen_ = make_tensor(backend, {kSize}, DType::f32), pull_ = make_tensor(backend, {kSize}, DType::f32);
    zero_ = make_tensor(backend, {kSize}, DType::f32);
    backend.fill(pull_, -2), backend.fill(zero_, 0);
  }
  Point x{.name = "x"}, y{.name = "y"};
  std::vector<double> progress_of;  // each step

  void progress(double share) override { progress_of.push_back(share); }
  std::uint64_t next_batch() override { return ++batches_, 1; }
  std::int64_t batch_items() const override { return 3; }
  std::string items() const override { return "images"; }
  bool needs_host() const override { return host_; }
  void forward(Pass& pass) override {
    same_ = under(pass, x);
    backend_.scale(same_, 2, {seen_, false});
  }
  void on_host() override {
    std::vector<float> pull;
    for (const float value : download(seen_)) pull.push_back(value / 2 > 0.5f ? -2.0f : 1.0f);
    upload(pull_, pull);
  }
  train::Loss loss(Pass& pass) override {
    const Tensor from = host_ ? std::exchange(same_, {}) : under(pass, x);
    const Tensor near = square(ops::add(from, pass.input(pull_)));
    const Tensor small = ops::scale(square(under(pass, x)), 0.5f);
    return {ops::add(near, small), {{"near", near}, {"small", small}}};
  }
  Json position() const override { return {{"batches", batches_}}; }
  void seek(const Json& position) override { position.at("batches").get_to(batches_); }
  train::Validation validate(world::World&) override {
    return {.loss = 0, .score = static_cast<double>(batches_), .text = "-", .json = {}};
  }

 protected:
  // A parameter in what the pass records: recording is decided by data.
  Tensor under(Pass& pass, const Point& point) const { return ops::add(pass.input(zero_), point.at.value); }

 private:
  Backend& backend_;
  bool host_;
  Tensor seen_, pull_, zero_, same_;
  std::int64_t batches_ = 0;
};

class Trainer : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    folder_ = scratch_folder("attend_trainer");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  train::TrainingResult train(train::Task& task, const std::vector<train::OptimizerTurn>& learners, std::int64_t steps,
                              bool resume = false, double minutes = 0) {
    train::RunFolder folder({.out = folder_, .resume = resume, .overwrite = !resume, .allow_changes = true});
    folder.stage("recipe.json", "{}");
    return train::train(task, learners,
                        {.folder = &folder,
                         .steps = steps,
                         .minutes = minutes,
                         .rate = {},
                         .log_every = 1,
                         .validate_every = 100,
                         .save_every = 1,
                         .average = 1,
                         .messages = &messages_});
  }
  static train::OptimizerTurn sgd(nn::Parameters& parameters, double rate, const std::string& name = "") {
    return {.parameters = &parameters,
            .optimizer = {.kind = train::OptimizerOptions::sgd},
            .rate = [=](std::int64_t) { return static_cast<float>(rate); },
            .name = name};
  }
  std::vector<Json> log() const {
    std::vector<Json> lines;
    std::istringstream in(read_file(folder_ / "log.jsonl"));
    for (std::string line; std::getline(in, line);)
      if (Json json = Json::parse(line); json.contains("loss")) lines.push_back(json);
    return lines;
  }

  std::filesystem::path folder_;
  std::ostringstream messages_;
};

TEST_P(Trainer, LossesAreNamedAndItemsAreNotAlwaysTokens) {
  Pulled task(backend(), false);
  nn::Parameters parameters(backend(), task.x, {});
  train(task, {sgd(parameters, kLearningRate)}, 8);
  double x = 1;
  const std::vector<Json> lines = log();
  ASSERT_EQ(lines.size(), 8u);
  EXPECT_EQ(task.progress_of, (std::vector<double>{1 / 8.0, 2 / 8.0, 3 / 8.0, 4 / 8.0, 5 / 8.0, 6 / 8.0, 7 / 8.0, 1}));
  for (const Json& line : lines) {
    const double near = (x - 2) * (x - 2), small = x * x / 2;
    EXPECT_NEAR(line["losses"]["near"].get<double>(), near, 1e-5);
    EXPECT_NEAR(line["losses"]["small"].get<double>(), small, 1e-5);
    EXPECT_NEAR(line["loss"].get<double>(), near + small, 1e-5);
    EXPECT_TRUE(line.contains("images_per_second"));
    x -= kLearningRate * (2 * (x - 2) + x) / kSize;
  }
  EXPECT_NEAR(download(task.x.at.value)[0], x, 1e-5);
}

// By the clock: the schedule is walked through from its beginning to its end, in however many steps there is time for.
TEST_P(Trainer, ARunByTheClockWalksItsWholeSchedule) {
  constexpr std::int64_t kSteps = 1'000'000'000;
  Pulled task(backend(), false);
  nn::Parameters parameters(backend(), task.x, {});
  std::vector<std::int64_t> asked;
  train::OptimizerTurn learner = sgd(parameters, 0);
  learner.rate = [&](std::int64_t step) { return asked.push_back(step), 0.0f; };
  const train::TrainingResult result = train(task, {learner}, kSteps, false, 0.2 / 60);
  EXPECT_EQ(result.steps, static_cast<std::int64_t>(asked.size()));
  EXPECT_GE(result.seconds, 0.2);
  EXPECT_NE(messages_.str().find("100 %  0 s of 0 s"), std::string::npos) << messages_.str();
  EXPECT_TRUE(std::is_sorted(asked.begin(), asked.end()));
  EXPECT_LT(asked.front(), kSteps);
  EXPECT_GE(asked.front(), 1);
  EXPECT_LE(asked.back(), kSteps);
  // One that is over stays so.
  const std::int64_t before = result.steps;
  EXPECT_EQ(train(task, {learner}, kSteps, true, 0.2 / 60).steps, before);
}

// What validations find is given.
struct Found {
  double loss, score;
};
class Evaluated : public Pulled {
 public:
  Evaluated(Backend& backend, std::vector<Found> found) : Pulled(backend, false), found_(std::move(found)) {}
  train::Validation validate(world::World&) override {
    const Found& now = found_.at(next_++);
    return {.loss = now.loss, .score = now.score, .text = "-", .json = {}};
  }

 private:
  std::vector<Found> found_;
  std::size_t next_ = 0;
};

// Of weights with the same score those with the lower loss are kept, and so with the average of checkpoints.
TEST_P(Trainer, OnATieTheLowerLossWins) {
  const auto run = [&](const std::vector<Found>& found, std::int64_t steps, std::int64_t average) {
    Evaluated task(backend(), found);
    nn::Parameters parameters(backend(), task.x, {});
    train::RunFolder folder({.out = folder_, .overwrite = true});
    return train::train(task, {sgd(parameters, kLearningRate)},
                        {.folder = &folder,
                         .steps = steps,
                         .rate = {},
                         .validate_every = 1,
                         .save_every = 1,
                         .average = average,
                         .messages = &messages_});
  };
  run({{1, 0.5}, {0.8, 0.5}, {0.9, 0.5}, {0.1, 0.4}}, 4, 1);
  EXPECT_EQ(checkpoint::Safetensors::open((folder_ / "model.safetensors").string()).metadata().at("step"), "2");
  EXPECT_FALSE(run({{1, 0.5}, {0.8, 0.5}, {0.9, 0.5}}, 2, 2).averaged);  // the last is the average's
  EXPECT_TRUE(run({{1, 0.5}, {0.8, 0.5}, {0.8, 0.5}}, 2, 2).averaged);
  EXPECT_TRUE(run({{1, 0.5}, {0.8, 0.5}, {0.9, 0.6}}, 2, 2).averaged);
}

// A run whose data will not do is refused before its folder is touched.
TEST_P(Trainer, WithoutAFirstBatchNothingIsWritten) {
  class Empty : public Pulled {
   public:
    explicit Empty(Backend& backend) : Pulled(backend, false) {}
    std::uint64_t next_batch() override { fail("there is nothing to learn from"); }
  } task(backend());
  nn::Parameters parameters(backend(), task.x, {});
  EXPECT_THROW(train(task, {sgd(parameters, kLearningRate)}, 2), Error);
  EXPECT_FALSE(std::filesystem::exists(folder_));
}

TEST_P(Trainer, TheHostIsAskedInEveryStep) {
  Pulled task(backend(), true);
  nn::Parameters parameters(backend(), task.x, {});
  train(task, {sgd(parameters, 0.8)}, 20);
  double x = 1;
  for (int step = 0; step < 20; ++step) {
    const double pull = x > 0.5 ? -2 : 1;
    x -= 0.8 * (2 * (x + pull) + x) / kSize;
  }
  EXPECT_NEAR(download(task.x.at.value)[0], x, 1e-4);
}

// min over x of (x - y - 1)², min over y of (x + y)², y twice per step: each sees what the other has just done.
class Game : public Pulled {
 public:
  explicit Game(Backend& backend) : Pulled(backend, false) {}
  void begin_turn(std::size_t learner) override { turn_ = learner; }
  train::Loss loss(Pass& pass) override {
    const Tensor a = under(pass, x), b = under(pass, y);
    if (turn_ == 1) return square(ops::add(a, b));
    const Tensor one = make_tensor(pass.backend(), {kSize}, DType::f32);
    pass.backend().fill(one, -1);
    return square(ops::add(ops::add(a, ops::scale(b, -1)), pass.input(one)));
  }

 private:
  std::size_t turn_ = 0;
};

TEST_P(Trainer, LearnersTakeTurns) {
  Game game(backend());
  nn::Parameters first(backend(), game.x, {}), second(backend(), game.y, {});
  std::vector<train::OptimizerTurn> learners = {sgd(first, 0.4, "first"), sgd(second, 0.2, "second")};
  learners[1].turns = 2;
  train(game, learners, 10);
  double x = 1, y = 1;
  for (int step = 0; step < 10; ++step) {
    x -= 0.4 * 2 * (x - y - 1) / kSize;
    for (int turn = 0; turn < 2; ++turn) y -= 0.2 * 2 * (x + y) / kSize;
  }
  EXPECT_NEAR(download(game.x.at.value)[0], x, 1e-5);
  EXPECT_NEAR(download(game.y.at.value)[0], y, 1e-5);
  const std::string whole = read_file(folder_ / "model.safetensors");

  Game again(backend());
  nn::Parameters third(backend(), again.x, {}), fourth(backend(), again.y, {});
  learners[0].parameters = &third, learners[1].parameters = &fourth;
  int states = 0;
  {
    const os::FaultInjection stop([&](os::Call call, const std::filesystem::path& path) {
      if (call == os::Call::rename && path.filename() == "state.safetensors") ++states;
      return states > 5 ? EIO : 0;
    });
    EXPECT_THROW(train(again, learners, 10), Error);
  }
  Game resumed(backend());
  nn::Parameters fifth(backend(), resumed.x, {}), sixth(backend(), resumed.y, {});
  learners[0].parameters = &fifth, learners[1].parameters = &sixth;
  train(resumed, learners, 10, true);
  EXPECT_EQ(read_file(folder_ / "model.safetensors"), whole);
}

INSTANTIATE_TEST_SUITE_P(Devices, Trainer, every_device(), name_of_device);

}  // namespace
}  // namespace attend::test
