// attend info and attend convert on the folder we ship and on fixtures.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "attend/base/json.h"
#include "attend/checkpoint/safetensors.h"
#include "attend/cli/program.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;

struct Outcome {
  int code;
  std::string out, err;
};

Outcome attend(const std::vector<std::string>& args) {
  std::istringstream in;
  std::ostringstream out, err;
  const int code = run_program(args, {.in = in, .out = out, .err = err});
  return {code, out.str(), err.str()};
}

constexpr const char* kFixture = "tests/fixtures/data/gpt2";

TEST(Info, CountsWhatTheFileHolds) {
  const Safetensors file = Safetensors::open(std::string(kFixture) + "/model.safetensors");
  std::int64_t numbers = 0;
  for (const StoredTensor& tensor : file.tensors()) numbers += tensor.shape.size();
  const Outcome outcome = attend({"info", kFixture, "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json["parameters"], numbers);
  EXPECT_EQ(json["model_type"], "gpt2");
  std::int64_t parts = 0;
  for (const Json& part : json["parts"]) parts += part["parameters"].get<std::int64_t>();
  EXPECT_EQ(parts, numbers);
  EXPECT_EQ(attend({"info", "no/such/folder"}).code, 1);
}

TEST(Convert, HalvesAndComesBackRounded) {
  const fs::path folder = fs::temp_directory_path() / ("attend_convert_" + std::to_string(getpid()));
  const std::string half = (folder / "half").string(), back = (folder / "back").string();
  ASSERT_EQ(attend({"convert", kFixture, "--dtype", "bf16", "--out", half}).code, 0);
  ASSERT_EQ(attend({"convert", half, "--dtype", "f32", "--out", back}).code, 0);
  const Safetensors before = Safetensors::open(std::string(kFixture) + "/model.safetensors");
  const Safetensors after = Safetensors::open(back + "/model.safetensors");
  ASSERT_EQ(before.tensors().size(), after.tensors().size());
  for (const StoredTensor& tensor : before.tensors()) {
    const std::vector<float> a = before.floats(tensor.name), b = after.floats(tensor.name);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], std::abs(a[i]) / 256) << tensor.name;
  }
  EXPECT_EQ(attend({"convert", kFixture, "--out", half}).code, 1);  // there is a model already
  EXPECT_EQ(attend({"convert", half, "--out", half, "--overwrite"}).code, 1);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace attend::test
