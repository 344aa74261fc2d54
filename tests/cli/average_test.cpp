// attend convert --average: the mean of several models, and what is said of models that have none.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "attend/base/files.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/checkpoint/safetensors_writer.h"
#include "tests/cli/run_attend.h"

namespace attend::test {
namespace {

class AverageCommand : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string model(const std::string& name, const std::string& tensor, const std::vector<float>& values,
                    const std::string& tokenizer = "{}") {
    std::filesystem::create_directories(folder_ / name);
    write_file(folder_ / name / "config.json", R"({"model_type": "transformer"})");
    write_file(folder_ / name / "tokenizer.json", tokenizer);
    checkpoint::SafetensorsWriter writer;
    writer.add(tensor, checkpoint::StoredType::f32, {static_cast<std::int64_t>(values.size())},
               [&](const FileWriter& write) {
                 write({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
               });
    writer.write((folder_ / name / "model.safetensors").string());
    return (folder_ / name).string();
  }
  std::string refusal(const std::string& a, const std::string& b) const {
    const Outcome outcome = run_attend({"convert", "--average", a, b, "--out", (folder_ / "none").string()});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "none"));
    return outcome.err;
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("attend-average-" + std::to_string(getpid()));
};

TEST_F(AverageCommand, IsTheMeanOfEveryWeight) {
  const std::string a = model("a", "w", {1, 2, -3}), b = model("b", "w", {2, 2, 5}), c = model("c", "w", {6, 2, 1}),
                    out = (folder_ / "soup").string();
  const Outcome outcome = run_attend({"convert", "--average", a, b, c, "--out", out});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(checkpoint::TensorFiles::open(out).all().floats("w"), (std::vector<float>{3, 2, 1}));
  EXPECT_EQ(read_file(std::filesystem::path(out) / "tokenizer.json"), "{}");
  EXPECT_EQ(run_attend({"convert", "--average", a, b, "--out", out}).code, 1);  // there is a model already
  ASSERT_EQ(run_attend({"convert", "--average", a, b, "--dtype", "bf16", "--overwrite", "--out", out}).code, 0);
  EXPECT_EQ(checkpoint::TensorFiles::open(out).all().floats("w"), (std::vector<float>{1.5f, 2, 1}));
}

TEST_F(AverageCommand, MismatchesAreNamed) {
  const std::string a = model("a", "w", {1, 2, 3}), shorter = model("shorter", "w", {1, 2}),
                    other = model("other", "u", {1, 2, 3}), words = model("words", "w", {1, 2, 3}, "[]");
  EXPECT_NE(refusal(a, shorter).find("'w' is [3] in '" + a + "' and [2] in '" + shorter), std::string::npos);
  EXPECT_NE(refusal(a, other).find("has a tensor 'w' that '" + other + "' lacks"), std::string::npos);
  EXPECT_NE(refusal(a, words).find("tokenizer.json of"), std::string::npos);
  EXPECT_NE(run_attend({"convert", "--average", a, "--out", "x"}).err.find("at least two"), std::string::npos);
  EXPECT_NE(run_attend({"convert", "--out", "x"}).err.find("which model?"), std::string::npos);
}

}  // namespace
}  // namespace attend::test
