// parameter_groups and layer_decay of a recipe, as `attend train` takes them: against runs that say the same otherwise.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/checkpoint/safetensors.h"
#include "tests/cli/run_attend.h"
#include "tests/train/recipes/folder_bytes.h"
#include "tests/train/recipes/heads/toy_labels.h"
#include "tests/train/recipes/translation/toy_corpus.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

class GroupsOfARecipe : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = scratch_folder("attend_groups");
    write_toy_corpus(folder_, {.pairs = 60, .seed = 3});
    write_toy_labels(folder_, 60);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // A language model of one layer, with these settings in a file and these as flags.
  Words language(const std::string& out, const Json& settings, const Words& more = {}) const {
    return with(toy_language_training(folder_, folder_ / out), settings, more);
  }
  Words with(Words args, const Json& settings, const Words& more) const {
    const fs::path recipe = folder_ / "recipe.json";
    write_file(recipe, settings.dump());
    args.insert(args.begin() + 1, recipe.string());
    args.insert(args.end(), {"--steps", "3", "--average", "1"});
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  void train(const Words& args) const {
    const Outcome outcome = run_attend(args);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }
  std::string weights(const std::string& out) const { return read_file(folder_ / out / "model.safetensors"); }
  void expect_error(const Json& groups, const std::string& part) const {
    const Outcome outcome = run_attend(language("none", {{"parameter_groups", groups}}));
    EXPECT_EQ(outcome.code, 1);
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
    EXPECT_FALSE(fs::exists(folder_ / "none"));
  }

  fs::path folder_;
};

Json one_group(Json group) { return {{"parameter_groups", Json::array({std::move(group)})}}; }

TEST_F(GroupsOfARecipe, RatesAndDecayAreThoseOfARunThatHasThemForAll) {
  train(language("half", Json::object(), {"--learning-rate", "0.0025"}));
  train(language("half-group", one_group({{"match", "*"}, {"learning_rate", 0.5}})));
  EXPECT_EQ(weights("half"), weights("half-group"));
  train(language("plain", Json::object(), {"--weight-decay", "0"}));
  train(language("plain-group", one_group({{"match", "*.weight"}, {"weight_decay", 0}})));
  EXPECT_EQ(weights("plain"), weights("plain-group"));
  EXPECT_NE(weights("plain"), weights("half"));
  EXPECT_EQ(read_json(folder_ / "half-group/recipe.json")["parameter_groups"][0]["learning_rate"].dump(), "0.5");
}

TEST_F(GroupsOfARecipe, LayerDecayIsAGroupALayer) {
  const Words two = {"--layers", "2"};
  train(language("decay", {{"layer_decay", 0.5}}, two));
  train(language("groups",
                 {{"parameter_groups", Json::array({{{"match", "transformer.h.0.*"}, {"learning_rate", 0.5}},
                                                    {{"match", "transformer.w*"}, {"learning_rate", 0.25}}})}},
                 two));
  EXPECT_EQ(weights("decay"), weights("groups"));
  train(language("none", Json::object(), two));
  EXPECT_NE(weights("decay"), weights("none"));
}

// Biases begin with zeros, and where they are frozen, they stay so.
TEST_F(GroupsOfARecipe, EveryTaskHasThem) {
  const auto zero_biases = [&](const std::string& out) {
    const checkpoint::Safetensors file = checkpoint::Safetensors::open((folder_ / out / "model.safetensors").string());
    int seen = 0;
    for (const checkpoint::StoredTensor& tensor : file.tensors()) {
      if (!tensor.name.ends_with("bias")) continue;
      ++seen;
      for (const float value : file.floats(tensor.name)) ASSERT_EQ(value, 0) << out << ": " << tensor.name;
    }
    EXPECT_GT(seen, 0) << out;
  };
  const Json frozen = one_group({{"match", "*bias"}, {"frozen", true}});
  train(language("language", frozen));
  zero_biases("language");
  train(with(toy_training(folder_, folder_ / "translation"), frozen, {}));
  zero_biases("translation");
  train(with(toy_masked_training(folder_, folder_ / "bert"), frozen, {}));
  zero_biases("bert");
  const Words head = toy_head_training(folder_, "classify", ".tsv", folder_ / "bert", folder_ / "head");
  train(with(head, frozen, {}));
  zero_biases("head");
  // A head alone: the model below it is bit by bit what it was.
  train(with(head, one_group({{"match", "bert.*"}, {"frozen", true}}), {"--overwrite"}));
  const checkpoint::Safetensors before = checkpoint::Safetensors::open((folder_ / "bert/model.safetensors").string());
  const checkpoint::Safetensors after = checkpoint::Safetensors::open((folder_ / "head/model.safetensors").string());
  int same = 0;
  for (const checkpoint::StoredTensor& tensor : before.tensors()) {
    if (!tensor.name.starts_with("bert.encoder.")) continue;
    const auto now = after[tensor.name].bytes;
    EXPECT_TRUE(std::equal(tensor.bytes.begin(), tensor.bytes.end(), now.begin(), now.end())) << tensor.name;
    ++same;
  }
  EXPECT_GT(same, 0);
}

TEST_F(GroupsOfARecipe, AResumedRunGoesOnWithThem) {
  const Json slow = {{"layer_decay", 0.5},
                     {"parameter_groups", Json::array({{{"match", "transformer.wpe.*"}, {"frozen", true}}})}};
  const Words steady = {"--schedule", "inverse-square-root", "--dropout", "0.1"};
  const auto steps = [&](Words more) {
    more.insert(more.end(), steady.begin(), steady.end());
    return more;
  };
  train(language("whole", slow, steps({"--steps", "6"})));
  train(language("parts", slow, steps({"--steps", "3"})));
  train({"train", "--resume", "--out", (folder_ / "parts").string(), "--steps", "6"});
  EXPECT_EQ(weights("parts"), weights("whole"));
  // They may change on the way, as the learning rate may.
  train(language("parts", Json::object(), steps({"--resume", "--steps", "9"})));
  EXPECT_NE(weights("parts"), weights("whole"));
}

TEST_F(GroupsOfARecipe, MistakesAreNamed) {
  const auto list = [](Json group) { return Json::array({std::move(group)}); };
  expect_error(list({{"match", "transformer.k.*"}, {"frozen", true}}), "'transformer.k.*' fits no parameter");
  expect_error(Json::array({{{"match", "*"}}, {{"match", "*.bias"}}}), "all that '*.bias' fits is a group's");
  expect_error(list({{"match", "*"}, {"frozen", true}}), "all parameters are frozen");
  expect_error(list({{"mach", "*"}}), "parameter_groups[0]: unknown key 'mach'; did you mean 'match'?");
  expect_error(list({{"frozen", true}}), "needs a 'match'");
  expect_error(list({{"match", "*"}, {"frozen", "yes"}}), "parameter_groups[0]: 'frozen' must be true or false");
  expect_error(list({{"match", "*"}, {"learning_rate", -1}}), "'learning_rate' must be 0 or more, not -1");
  expect_error(list({{"match", "*"}, {"weight_decay", -2}}), "'weight_decay' must be -1");
  expect_error("*", "'parameter_groups' must be a list of JSON objects");
  expect_error(list("*"), "'parameter_groups' must be a list of JSON objects");
  const Outcome outcome = run_attend(language("none", {{"layer_decay", 1.5}}));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("'layer_decay' must be above 0 and at most 1, not 1.5"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace attend::test
