// Distillation: the loss against the formulas written out in double, and attend train --teacher as a user meets it.
#include "attend/train/recipes/images/image_teacher.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/cpu/cpu_backend.h"
#include "tests/cli/run_attend.h"
#include "tests/train/recipes/folder_bytes.h"
#include "tests/train/recipes/images/toy_images.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kRows = 3, kClasses = 4;
const std::vector<float> kLogits = {0.3f, -1.2f, 2.0f, 0.1f, 5.0f, 4.0f, -3.0f, 0.0f, 0.5f, 0.5f, 0.5f, 0.25f};
const std::vector<float> kWanted = {0.7f, 0.1f, 0.1f, 0.1f, 0.25f, 0.25f, 0.25f, 0.25f, 0.0f, 0.0f, 1.0f, 0.0f};

double by_hand(const std::vector<double>& z) {
  double loss = 0;
  for (std::size_t r = 0; r < kRows; ++r) {
    double sum = 0;
    for (std::size_t v = 0; v < kClasses; ++v) sum += std::exp(z[r * kClasses + v]);
    for (std::size_t v = 0; v < kClasses; ++v)
      loss -= static_cast<double>(kWanted[r * kClasses + v]) * (z[r * kClasses + v] - std::log(sum));
  }
  return loss / static_cast<double>(kRows);
}

TEST(Distillation, SoftCrossEntropyAndItsGradient) {
  CpuBackend backend;
  const Shape shape{static_cast<std::int64_t>(kRows), static_cast<std::int64_t>(kClasses)};
  const Tensor logits = make_tensor(backend, shape, DType::f32), wanted = make_tensor(backend, shape, DType::f32);
  upload(logits, kLogits);
  upload(wanted, kWanted);
  Pass pass(backend, {.recording = true});
  pass.begin({});
  const Tensor z = pass.variable(logits);
  const Tensor loss = train::soft_cross_entropy(z, pass.input(wanted));
  std::vector<double> exact(kLogits.begin(), kLogits.end());
  EXPECT_NEAR(download(loss).at(0), by_hand(exact), 1e-6);
  pass.backward(loss);
  const std::vector<float> gradient = download(gradient_of(z));
  for (std::size_t i = 0; i < exact.size(); ++i) {
    constexpr double kStep = 1e-5;
    std::vector<double> more = exact, less = exact;
    more[i] += kStep, less[i] -= kStep;
    EXPECT_NEAR(gradient[i], (by_hand(more) - by_hand(less)) / (2 * kStep), 1e-5) << i;
  }
}

class TrainWithTeacher : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = scratch_folder("attend_train_teacher");
    write_toy_images(folder_ / "images");
    const Outcome taught = run_attend(training("teacher", {"--steps", "40", "--validate-every", "40"}));
    ASSERT_EQ(taught.code, 0) << taught.err;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::vector<std::string> training(const std::string& out, std::initializer_list<const char*> more) const {
    return toy_image_training(folder_ / "images", folder_ / out, more);
  }
  Outcome student(const std::string& out, std::initializer_list<const char*> more) const {
    std::vector<std::string> words = training(out, more);
    words.insert(words.end(), {"--teacher", path("teacher"), "--steps", "4", "--validate-every", "4"});
    return run_attend(words);
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  fs::path folder_;
};

// A student that begins as its teacher, learns from it alone and softly has nothing to learn: at temperature 1 the
// gradient of its loss is zero, and its weights stay. (Adam's epsilon is large, so that it does not blow up noise.)
TEST_F(TrainWithTeacher, AStudentThatIsItsTeacherStays) {
  const std::string teacher = path("teacher");
  const Outcome same =
      student("same", {"--from", teacher.c_str(), "--distillation", "soft", "--distillation-weight", "1",
                       "--distillation-temperature", "1", "--weight-decay", "0", "--epsilon", "1"});
  ASSERT_EQ(same.code, 0) << same.err;
  EXPECT_NE(same.err.find("soft distillation"), std::string::npos) << same.err;
  const Json before = parse_json(run_attend({"evaluate", "--model", teacher, path("images/valid"), "--json"}).out, "a");
  const Json after =
      parse_json(run_attend({"evaluate", "--model", path("same"), path("images/valid"), "--json"}).out, "b");
  EXPECT_EQ(before.at("accuracy"), after.at("accuracy"));
  EXPECT_NEAR(before.at("loss").get<double>(), after.at("loss").get<double>(), 1e-4);
}

TEST_F(TrainWithTeacher, HardIsTheDefaultAndGoesWithMixing) {
  const Outcome trained = student("hard", {"--mixup", "0.4", "--cutmix", "1"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.err.find("hard distillation"), std::string::npos) << trained.err;
  EXPECT_EQ(read_json(path("hard/recipe.json")).at("distillation"), "hard");
}

TEST_F(TrainWithTeacher, ATeacherOfOtherImagesOrLabelsIsRefused) {
  const auto refused = [&](const Outcome& outcome, const char* words, const char* out) {
    EXPECT_EQ(outcome.code, 1) << outcome.out;
    EXPECT_NE(outcome.err.find(words), std::string::npos) << outcome.err;
    EXPECT_FALSE(fs::exists(path(out)));
  };
  refused(student("a", {"--image-size", "32"}), "reads images of 16 x 16, but the student of 32 x 32", "a");
  refused(student("b", {"--mean", "0.4"}), "mean 0.5,0.5,0.5", "b");
  refused(student("c", {"--label-names", "a", "--label-names", "b", "--label-names", "c", "--label-names", "d"}),
          "the student's a, b, c, d", "c");
  refused(student("d", {"--distillation", "medium"}), "'distillation'", "d");
  refused(run_attend(training("e", {"--distillation", "soft"})), "needs a 'teacher'", "e");
  refused(student("f", {"--distillation-temperature", "2"}), "is for soft distillation", "f");
}

}  // namespace
}  // namespace attend::test
