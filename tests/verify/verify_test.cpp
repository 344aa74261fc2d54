// attend verify on models of transformers 5.17 and timm: all that their files name is the same here; a value that was
// changed, a name that nobody produces and models that are not known are told apart.
#include "attend/verify/verify.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/catalogue/catalogue.h"
#include "attend/checkpoint/safetensors.h"
#include "attend/cli/program.h"
#include "attend/verify/recipe.h"
#include "tests/base/fixtures.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;

const fs::path kData = "tests/fixtures/data";

// Every folder with a config, be it in case.json.
std::vector<FixtureCase> verified_cases() {
  return fixture_folders("models", [](const FixtureCase& each) {
    return fs::exists(each.folder / "config.json") || each.notes.contains("config");
  });
}

class VerifiedFolder : public testing::TestWithParam<FixtureCase> {};

TEST_P(VerifiedFolder, Passes) {
  if (GetParam().folder.empty()) GTEST_SKIP() << kNoFixture;
  const verify::VerifyReport report = verify::verify(GetParam().folder, cpu());
  EXPECT_GE(report.tensors.size(), 1u);
  for (const verify::VerifiedTensor& tensor : report.tensors)
    EXPECT_EQ(tensor.verdict, verify::VerifiedTensor::same)
        << tensor.name << ": " << tensor.error << ", relative " << tensor.relative << ' ' << tensor.note;
  EXPECT_TRUE(report.passed());
}

INSTANTIATE_TEST_SUITE_P(Fixtures, VerifiedFolder, testing::ValuesIn(verified_cases()),
                         [](const auto& test) { return test_name(test.param.name); });

TEST(VerifiedFolders, EveryKindIsThere) {
  if (fixtures_given()) GTEST_SKIP() << "ATTEND_FIXTURES may hold a few of them";
  const std::vector<FixtureCase> cases = verified_cases();
  std::istringstream names(
      "gpt2 gpt2_training bert_base bert_masked_lm bert_classify bert_tag bert_qa bert_pretraining roberta_masked_lm "
      "roberta_classify distilbert_classify longformer_masked_lm longformer_classify longformer_qa longformer_marked "
      "marian vit deit swin mvit resnet detr detr_float64 vit_gpt2_captioner");
  for (std::string name; names >> name;) EXPECT_EQ(std::ranges::count(cases, name, &FixtureCase::name), 1) << name;
}

class Verify : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  // A copy of a fixture, with `change` made to the bytes of one of its files.
  template <class Change>
  void copy(const char* name, const char* file, Change change) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    for (const auto& entry : fs::directory_iterator(kData / name))
      fs::copy_file(entry.path(), folder_ / entry.path().filename(), fs::copy_options::overwrite_existing);
    std::string bytes = read_file(kData / name / file);
    change(bytes);
    write_file(folder_ / file, bytes);
  }
  int run() {
    std::istringstream in;
    out_ = {}, err_ = {};
    return cli::run_program({"verify", folder_.string()}, {.in = in, .out = out_, .err = err_});
  }

  const fs::path folder_ = fs::temp_directory_path() / ("attend_verify_" + std::to_string(getpid()));
  std::ostringstream out_, err_;
};

TEST_F(Verify, TheCommandPrintsATableAndSaysWhatIsTrulyZero) {
  copy("bert_classify", "config.json", [](std::string&) {});
  EXPECT_EQ(run(), 0) << err_.str();
  EXPECT_NE(out_.str().find("grad.bert.encoder.layer.0.attention.self.key.bias"), std::string::npos) << out_.str();
  EXPECT_NE(out_.str().find("against the largest gradient"), std::string::npos);
  EXPECT_NE(out_.str().find("0 beyond, 0 not produced"), std::string::npos);
}

TEST_F(Verify, AChangedValueFails) {
  const checkpoint::Safetensors file =
      checkpoint::Safetensors::open((kData / "bert_classify/expected.safetensors").string());
  const auto bytes = file["logits"].bytes;
  const std::string logits(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  copy("bert_classify", "expected.safetensors", [&](std::string& content) {
    const std::size_t at = content.find(logits);
    ASSERT_NE(at, std::string::npos);
    content[at + 3] = static_cast<char>(content[at + 3] ^ 0x80);  // the sign of the first
  });
  EXPECT_EQ(run(), 1);
  const verify::VerifyReport report = verify::verify(folder_, cpu());
  EXPECT_EQ(report.count(verify::VerifiedTensor::beyond), 1u);
  EXPECT_NE(out_.str().find("BEYOND"), std::string::npos);
  EXPECT_NE(err_.str().find("1 of "), std::string::npos) << err_.str();
}

TEST_F(Verify, AChangedTokenFails) {
  const checkpoint::Safetensors file = checkpoint::Safetensors::open((kData / "marian/expected.safetensors").string());
  const auto bytes = file["beam4"].bytes;
  const std::string beam(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  copy("marian", "expected.safetensors", [&](std::string& content) { content[content.find(beam) + 24] ^= 1; });
  EXPECT_EQ(run(), 1);
  EXPECT_NE(out_.str().find("1 of 60 differ, the first at 3"), std::string::npos) << out_.str();
}

TEST_F(Verify, ANameThatNobodyProducesIsReported) {
  copy("bert_classify", "expected.safetensors",
       [](std::string& content) { content.replace(content.find("\"logits\""), 8, "\"lagits\""); });
  EXPECT_EQ(run(), 1);
  EXPECT_NE(out_.str().find("NOT PRODUCED"), std::string::npos) << out_.str();
  EXPECT_NE(err_.str().find("1 not produced"), std::string::npos) << err_.str();
}

TEST_F(Verify, UnknownModelsAndMissingFilesAreNamed) {
  copy("bert_classify", "config.json", [](std::string& config) {
    config.replace(config.find("\"model_type\": \"bert\""), 20, "\"model_type\": \"elmo\"");
  });
  EXPECT_EQ(run(), 1);
  EXPECT_NE(err_.str().find("known are " + catalogue::types_of()), std::string::npos) << err_.str();
  copy("bert_classify", "config.json", [](std::string& config) {
    config.replace(config.find("BertForSequenceClassification"), 29, "BertForMultipleChoice");
  });
  EXPECT_EQ(run(), 1);
  EXPECT_NE(err_.str().find("ForSequenceClassification"), std::string::npos) << err_.str();
  fs::remove(folder_ / "expected.safetensors");
  EXPECT_EQ(run(), 1);
  EXPECT_NE(err_.str().find("no expected.safetensors"), std::string::npos) << err_.str();
}

// timm writes no config.json; any other config may stand in case.json as well.
TEST_F(Verify, AConfigInCaseJson) {
  copy("mvit", "case.json", [](std::string&) {});
  EXPECT_EQ(run(), 0) << err_.str();
  EXPECT_NE(out_.str().find("MViTForImageClassification: 1 of 1 within"), std::string::npos) << out_.str();
  copy("bert_tag", "case.json", [](std::string& notes) {
    Json changed = parse_json(notes, "case.json");
    changed["config"] = read_json(kData / "bert_tag/config.json");
    changed["config"].erase("architectures");  // the kind is one
    notes = changed.dump();
  });
  fs::remove(folder_ / "config.json");
  EXPECT_EQ(run(), 0) << err_.str();
  EXPECT_NE(out_.str().find("BertForTokenClassification: "), std::string::npos) << out_.str();
}

TEST_F(Verify, AFolderWithoutAConfigIsRefused) {
  const auto expect_error = [&](const std::string& part) {
    EXPECT_EQ(run(), 1);
    EXPECT_NE(err_.str().find(part), std::string::npos) << err_.str();
    EXPECT_EQ(err_.str().find('\n'), err_.str().size() - 1) << err_.str();
  };
  copy("mvit", "case.json", [](std::string& notes) { notes = R"({"kind": "timm MultiScaleVit"})"; });
  expect_error("case.json has no 'config', and there is no config.json beside it");
  write_file(folder_ / "case.json", R"({"kind": "timm ConvNeXt", "config": {"depths": [1]}})");
  expect_error("has no 'model_type', and its kind is \"timm ConvNeXt\"; without a type is known 'timm MultiScaleVit'");
  write_file(folder_ / "case.json", R"({"kind": 3, "config": {"depths": [1]}})");
  expect_error("its kind is not named");
  for (const char* notes : {"[]", "null", "3"}) {
    write_file(folder_ / "case.json", notes);
    expect_error("case.json: not a JSON object");
  }
  write_file(folder_ / "case.json", "");
  expect_error("case.json: ");
  fs::remove(folder_ / "case.json");
  expect_error("it has neither config.json nor a case.json with a config");
}

// Rates and steps are those that case.json names; a recipe in other words is refused.
TEST_F(Verify, ATrainingRecipeIsReadFromCaseJson) {
  const std::string recipe = read_json(kData / "gpt2_training/case.json")["optimizer"].text();
  const verify::TrainingRecipe read = verify::training_recipe(recipe, "here");
  EXPECT_EQ(read.optimizer.beta1, 0.9f);
  EXPECT_EQ(read.optimizer.beta2, 0.95f);
  EXPECT_EQ(read.optimizer.weight_decay, 0.1f);
  EXPECT_EQ(read.optimizer.clip_norm, 1);
  EXPECT_EQ(read.rate_at(1), 2.5e-4f);
  EXPECT_EQ(read.rate_at(9), 1e-3f);
  EXPECT_THROW(verify::training_recipe("SGD " + recipe, "here"), Error);
  EXPECT_THROW(verify::training_recipe(recipe + ", nesterov", "here"), Error);
  EXPECT_THROW(verify::training_recipe("", "here"), Error);
  const std::string rate = "1e-3*min(1,step/4)", other = "2e-3*min(1,step/3)";
  copy("gpt2_training", "case.json", [&](std::string& notes) { notes.replace(notes.find(rate), rate.size(), other); });
  EXPECT_EQ(run(), 1);
  EXPECT_NE(out_.str().find("losses"), std::string::npos) << out_.str();
  EXPECT_NE(err_.str().find("2 of 2 tensors beyond"), std::string::npos) << err_.str();
}

// What a changed file says instead is refused by its name, and nothing but a message follows.
class OddFolder : public Verify {
 protected:
  using Tensors = std::map<std::string, Json>;  // {"shape": [..], "floats": [..]} or {.., "ints": [..]}

  // The fixture with its expected.safetensors changed; gradients are left out, which take long.
  template <class Change>
  void expect_error(const char* name, Change change, const std::string& part) {
    copy(name, "case.json", [](std::string&) {});
    const checkpoint::Safetensors file =
        checkpoint::Safetensors::open((kData / name / "expected.safetensors").string());
    Tensors tensors;
    for (const checkpoint::StoredTensor& tensor : file.tensors()) {
      if (tensor.name.starts_with("grad.")) continue;
      Json& each = tensors[tensor.name];
      each["shape"] = std::vector<std::int64_t>(tensor.shape.begin(), tensor.shape.end());
      if (is_float(tensor.type))
        each["floats"] = file.floats(tensor.name);
      else
        each["ints"] = file.ints(tensor.name);
    }
    change(tensors);
    write(tensors);
    EXPECT_EQ(run(), 1) << out_.str();
    EXPECT_NE(err_.str().find(part), std::string::npos) << err_.str();
    EXPECT_NE(err_.str().find(folder_.string()), std::string::npos) << err_.str();
    EXPECT_EQ(err_.str().find('\n'), err_.str().size() - 1) << err_.str();
  }

 private:
  void write(const Tensors& tensors) const {
    Json header = Json::object();
    std::string data;
    for (const auto& [name, each] : tensors) {
      const std::size_t begin = data.size();
      const auto add = [&](const auto& values) {
        data.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0]));
      };
      if (each.contains("floats"))
        add(each["floats"].get<std::vector<float>>());
      else
        add(each["ints"].get<std::vector<std::int64_t>>());
      header[name] = {{"dtype", each.contains("floats") ? "F32" : "I64"},
                      {"shape", each["shape"]},
                      {"data_offsets", {begin, data.size()}}};
    }
    const std::string text = header.dump();
    const std::uint64_t size = text.size();
    write_file(folder_ / "expected.safetensors",
               std::string(reinterpret_cast<const char*>(&size), sizeof(size)) + text + data);
  }
};

TEST_F(OddFolder, InputsThatAreMissing) {
  for (const auto& [name, input] : {std::pair{"bert_qa", "start_positions"},
                                    {"bert_classify", "labels"},
                                    {"gpt2", "input_ids"},
                                    {"mvit", "pixel_values"}})
    expect_error(
        name, [input = input](Tensors& tensors) { tensors.erase(input); },
        "there is no tensor \"" + std::string(input) + "\"");
  expect_error(
      "mvit", [](Tensors& tensors) { tensors.erase("logits"); }, "names inputs, but nothing to compare");
}

TEST_F(OddFolder, ShapesThatDoNotFit) {
  expect_error(
      "bert_qa",
      [](Tensors& tensors) {
        tensors["end_positions"] = {{"shape", {1}}, {"ints", {2}}};
      },
      "3 start_positions, but 1 end_positions");
  expect_error(
      "bert_classify",
      [](Tensors& tensors) {
        tensors["labels"] = {{"shape", {2}}, {"ints", {0, 1}}};
      },
      "labels are [2], but there are 3 texts");
  expect_error(
      "gpt2",
      [](Tensors& tensors) {
        tensors["prompt"] = {{"shape", {2}}, {"ints", {3, 4}}};
      },
      "the prompts are [2], not [texts, tokens]");
  expect_error(
      "gpt2",
      [](Tensors& tensors) {
        tensors["greedy"] = {{"shape", {1, 0}}, {"ints", Json::array()}};
      },
      "'greedy' is empty");
  expect_error(
      "mvit",
      [](Tensors& tensors) {
        tensors["pixel_values"] = {{"shape", {2}}, {"floats", {1.0, 2.0}}};
      },
      "not floats [B, C, H, W]");
  expect_error(
      "longformer_marked",
      [](Tensors& tensors) {
        tensors["global_attention_mask"] = {{"shape", {2}}, {"ints", {1, 0}}};
      },
      "global_attention_mask is [2], but input_ids are [3, 33]");
  expect_error(
      "bert_masked_lm", [](Tensors& tensors) { tensors["global_attention_mask"] = tensors["attention_mask"]; },
      "global_attention_mask is for a Longformer");
}

TEST_F(OddFolder, NumbersOfAnotherKind) {
  expect_error(
      "bert_tag",
      [](Tensors& tensors) {
        tensors["labels"] = {{"shape", {1}}, {"floats", {0.5}}};
      },
      "'labels' holds floats, not ids");
  expect_error(
      "mvit",
      [](Tensors& tensors) {
        tensors["logits"] = {{"shape", {2, 5}}, {"ints", std::vector<int>(10, 1)}};
      },
      "'logits' holds integers; a model computes floats");
}

// What DETR's loss is made of is compared without the loss itself, too.
TEST_F(OddFolder, LossTermsWithoutTheLoss) {
  expect_error(
      "detr",
      [](Tensors& tensors) {
        tensors.erase("loss");
        tensors["loss_dict.loss_ce"]["floats"] = {0.25};
      },
      "1 of 12 tensors beyond 0.0001, 0 not produced");
}

}  // namespace
}  // namespace attend::test
