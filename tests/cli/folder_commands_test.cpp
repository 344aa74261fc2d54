// attend info and attend convert on the folder we ship and on fixtures.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>

#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/checkpoint/safetensors.h"
#include "tests/cli/run_attend.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFixture = "tests/fixtures/data/gpt2";

TEST(Info, CountsWhatTheFileHolds) {
  const Safetensors file = Safetensors::open(std::string(kFixture) + "/model.safetensors");
  std::int64_t numbers = 0;
  for (const StoredTensor& tensor : file.tensors()) numbers += tensor.shape.size();
  const Outcome outcome = run_attend({"info", kFixture, "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json["parameters"], numbers);
  EXPECT_EQ(json["model_type"], "gpt2");
  std::int64_t parts = 0;
  for (const Json& part : json["parts"]) parts += part["parameters"].get<std::int64_t>();
  EXPECT_EQ(parts, numbers);
  EXPECT_EQ(run_attend({"info", "no/such/folder"}).code, 1);
}

TEST(Convert, HalvesAndComesBackRounded) {
  const fs::path folder = fs::temp_directory_path() / ("attend_convert_" + std::to_string(getpid()));
  const std::string half = (folder / "half").string(), back = (folder / "back").string();
  ASSERT_EQ(run_attend({"convert", kFixture, "--dtype", "bf16", "--out", half}).code, 0);
  ASSERT_EQ(run_attend({"convert", half, "--dtype", "f32", "--out", back}).code, 0);
  const Safetensors before = Safetensors::open(std::string(kFixture) + "/model.safetensors");
  const Safetensors after = Safetensors::open(back + "/model.safetensors");
  ASSERT_EQ(before.tensors().size(), after.tensors().size());
  for (const StoredTensor& tensor : before.tensors()) {
    const std::vector<float> a = before.floats(tensor.name), b = after.floats(tensor.name);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], std::abs(a[i]) / 256) << tensor.name;
  }
  EXPECT_EQ(run_attend({"convert", kFixture, "--out", half}).code, 1);  // there is a model already
  EXPECT_EQ(run_attend({"convert", half, "--out", half, "--overwrite"}).code, 1);
  fs::remove_all(folder);
}

// int8: a quarter of the size, to half a step, and read by what reads any folder.
TEST(Convert, ToWholeNumbersAndBack) {
  const fs::path folder = fs::temp_directory_path() / ("attend_convert_i8_" + std::to_string(getpid()));
  const std::string small = (folder / "small").string(), back = (folder / "back").string();
  ASSERT_EQ(run_attend({"convert", kFixture, "--dtype", "int8", "--out", small}).code, 0);
  ASSERT_EQ(run_attend({"convert", small, "--dtype", "f32", "--out", back}).code, 0);
  const Safetensors before = Safetensors::open(std::string(kFixture) + "/model.safetensors");
  const Safetensors after = Safetensors::open(back + "/model.safetensors");
  ASSERT_EQ(before.tensors().size(), after.tensors().size());
  for (const StoredTensor& tensor : before.tensors()) {
    const std::vector<float> a = before.floats(tensor.name), b = after.floats(tensor.name);
    ASSERT_EQ(a.size(), b.size());
    float largest = 0;
    for (float value : a) largest = std::max(largest, std::abs(value));
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], largest / 127 * 0.51f) << tensor.name;
  }
  const Json plain = Json::parse(run_attend({"info", kFixture, "--json"}).out);
  const Json info = Json::parse(run_attend({"info", small, "--json"}).out);
  EXPECT_EQ(info["parameters"], plain["parameters"]);
  EXPECT_LT(info["bytes"].get<double>(), 0.5 * plain["bytes"].get<double>());
  // Against what transformers computed from the weights before they were rounded.
  fs::copy_file(std::string(kFixture) + "/expected.safetensors", small + "/expected.safetensors",
                fs::copy_options::overwrite_existing);
  for (const char* weights : {"f32", "int8"}) {
    const Outcome outcome = run_attend({"verify", small, "--weights", weights, "--tolerance", "0.1"});
    const std::size_t logits = outcome.out.find("\nlogits ");
    ASSERT_NE(logits, std::string::npos) << outcome.err;
    const std::string line = outcome.out.substr(logits + 1, outcome.out.find('\n', logits + 1) - logits);
    EXPECT_NE(line.find(" ok"), std::string::npos) << weights << ": " << line;
    EXPECT_EQ(outcome.out.find("grad."), std::string::npos);
  }
  fs::remove_all(folder);
}

// The same outputs, packed exactly: with every form of weights, whatever the file wants of a model that is run.
TEST(Verify, PackedWeights) {
  EXPECT_EQ(run_attend({"verify", kFixture, "--weights", "f32"}).code, 0);
  EXPECT_EQ(run_attend({"verify", "tests/fixtures/data/bert_masked_lm", "--weights", "f32"}).code, 0);
}

// f32 whose products are of bf16 pieces: close to what another library computed, plain and packed, and only on the CPU.
TEST(Verify, ProductsOfPieces) {
  for (const char* folder : {"bert_classify", "gpt2", "marian"}) {
    const std::string path = std::string("tests/fixtures/data/") + folder;
    EXPECT_EQ(run_attend({"verify", path, "--dtype", "bf16x3"}).code, 0) << folder;
    EXPECT_EQ(run_attend({"verify", path, "--dtype", "bf16x3", "--weights", "f32"}).code, 0) << folder;
  }
  const auto elsewhere = run_attend({"verify", kFixture, "--dtype", "bf16x3", "--device", "cuda"});
  EXPECT_EQ(elsewhere.code, 1);
  EXPECT_NE(elsewhere.err.find("bf16x3 is for the CPU"), std::string::npos) << elsewhere.err;
}

// A folder from before safetensors: every command that wants its weights says how to get them.
TEST(Pickle, EveryCommandSaysHowToConvertIt) {
  struct Case {
    std::string config;
    std::vector<std::string> words;  // FOLDER stands for the folder
  };
  const std::string fixtures = "tests/fixtures/data/";
  const Case cases[] = {
      {fixtures + "gpt2", {"info", "FOLDER"}},
      {fixtures + "gpt2", {"convert", "FOLDER", "--out", "FOLDER/out"}},
      {fixtures + "gpt2", {"verify", "FOLDER"}},
      {fixtures + "marian", {"verify", "FOLDER"}},
      {fixtures + "gpt2", {"generate", "--model", "FOLDER", "a"}},
      {fixtures + "gpt2", {"perplexity", "--model", "FOLDER"}},
      {fixtures + "bert_masked_lm", {"fill", "--model", "FOLDER"}},
      {fixtures + "bert_classify", {"classify", "--model", "FOLDER"}},
      {fixtures + "bert_tag", {"tag", "--model", "FOLDER"}},
      {fixtures + "bert_qa", {"answer", "--model", "FOLDER", "--question", "a", "--context-text", "b"}},
      {fixtures + "bert_base", {"embed", "--model", "FOLDER"}},
      {"models/en-fr", {"translate", "--model", "FOLDER"}},
      {"models/en-fr", {"look", "--model", "FOLDER", "--text", "a", "--svg", "FOLDER/a.svg"}},
  };
  const fs::path folder = fs::temp_directory_path() / ("attend_pickle_" + std::to_string(getpid()));
  for (const Case& item : cases) {
    fs::remove_all(folder);
    fs::create_directories(folder);
    for (const auto& entry : fs::directory_iterator(item.config))
      if (entry.path().filename() != "model.safetensors") fs::copy(entry.path(), folder / entry.path().filename());
    if (!fs::exists(folder / "tokenizer.json"))
      write_file(folder / "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n");
    fs::copy(fixtures + "gpt2/config.json", folder / "pytorch_model.bin");
    std::vector<std::string> words = item.words;
    for (std::string& word : words)
      if (word.starts_with("FOLDER")) word = folder.string() + word.substr(6);
    const Outcome outcome = run_attend(words);
    EXPECT_EQ(outcome.code, 1) << words[0];
    EXPECT_NE(outcome.err.find("safetensors.torch"), std::string::npos) << words[0] << ": " << outcome.err;
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace attend::test
