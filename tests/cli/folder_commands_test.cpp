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
#include "attend/checkpoint/safetensors_writer.h"
#include "tests/checkpoint/torch_writer.h"
#include "tests/cli/run_attend.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFixture = "tests/fixtures/data/gpt2";

TEST(Info, CountsWhatTheFileHolds) {
  const checkpoint::Safetensors file = checkpoint::Safetensors::open(std::string(kFixture) + "/model.safetensors");
  std::int64_t numbers = 0;
  for (const checkpoint::StoredTensor& tensor : file.tensors()) numbers += tensor.shape.size();
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
  const checkpoint::Safetensors before = checkpoint::Safetensors::open(std::string(kFixture) + "/model.safetensors");
  const checkpoint::Safetensors after = checkpoint::Safetensors::open(back + "/model.safetensors");
  ASSERT_EQ(before.tensors().size(), after.tensors().size());
  for (const checkpoint::StoredTensor& tensor : before.tensors()) {
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
  const checkpoint::Safetensors before = checkpoint::Safetensors::open(std::string(kFixture) + "/model.safetensors");
  const checkpoint::Safetensors after = checkpoint::Safetensors::open(back + "/model.safetensors");
  ASSERT_EQ(before.tensors().size(), after.tensors().size());
  for (const checkpoint::StoredTensor& tensor : before.tensors()) {
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

// A folder from before safetensors, in both formats of torch's files: every command says of it what it says of the same
// weights as safetensors.
TEST(TorchFolders, EveryCommandTakesThem) {
  struct Case {
    std::string config;
    std::vector<std::string> words;  // FOLDER stands for the folder
    std::string input = {};
  };
  const std::string fixtures = "tests/fixtures/data/";
  const Case cases[] = {
      {fixtures + "gpt2", {"info", "FOLDER"}},
      {fixtures + "gpt2", {"convert", "FOLDER", "--out", "FOLDER/out"}},
      {fixtures + "gpt2", {"verify", "FOLDER"}},
      {fixtures + "marian", {"verify", "FOLDER"}},
      // The gradients of its first queries and keys are 0.9e-4 from torch's on arm64, and 1e-4 would be the limit.
      {fixtures + "detr", {"verify", "FOLDER", "--tolerance", "2e-4"}},
      {fixtures + "vit_gpt2_captioner", {"verify", "FOLDER"}},
      {fixtures + "bert_base", {"embed", "--model", "FOLDER"}, "a b\n"},
      {fixtures + "bert_classify", {"classify", "--model", "FOLDER"}, "a b\n"},
      {"models/en-fr", {"translate", "--model", "FOLDER"}, "hello\n"},
      {"models/en-fr", {"look", "--model", "FOLDER", "--text", "a", "--svg", "FOLDER/a.svg"}},
  };
  const fs::path folder = fs::temp_directory_path() / ("attend_torch_" + std::to_string(getpid()));
  for (const Case& item : cases) {
    fs::remove_all(folder);
    fs::create_directories(folder);
    for (const auto& entry : fs::directory_iterator(item.config))
      if (entry.is_regular_file()) fs::copy(entry.path(), folder / entry.path().filename());
    if (!fs::exists(folder / "tokenizer.json"))
      write_file(folder / "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n");
    const auto run = [&] {
      std::vector<std::string> words = item.words;
      for (std::string& word : words)
        if (word.starts_with("FOLDER")) word = folder.string() + word.substr(6);
      const Outcome outcome = run_attend(words, item.input);
      fs::remove_all(folder / "out");
      return outcome;
    };
    const Outcome expected = run();
    EXPECT_EQ(expected.code, 0) << item.words[0] << ": " << expected.err;
    const std::string weights = (folder / "model.safetensors").string();
    const checkpoint::Safetensors file = checkpoint::Safetensors::open(weights);
    for (const bool zip : {false, true}) {
      write_file(folder / "pytorch_model.bin", torch_of(file, zip));
      fs::rename(weights, weights + ".away");
      const Outcome outcome = run();
      fs::rename(weights + ".away", weights);
      EXPECT_EQ(outcome.code, 0) << item.words[0] << ": " << outcome.err;
      EXPECT_EQ(outcome.out, expected.out) << item.words[0];
    }
  }
  fs::remove_all(folder);
}

// A table that is tied to the output may be stored under either name.
TEST(TiedWeights, AreFoundUnderTheirOtherName) {
  const struct {
    const char *fixture, *name, *other;
  } cases[] = {
      {"gpt2", "transformer.wte.weight", "lm_head.weight"},
      {"bert_masked_lm", "bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight"},
      {"bert_masked_lm", "cls.predictions.bias", "cls.predictions.decoder.bias"},
      {"roberta_masked_lm", "roberta.embeddings.word_embeddings.weight", "lm_head.decoder.weight"},
      {"roberta_masked_lm", "lm_head.bias", "lm_head.decoder.bias"},
      {"vit_gpt2_captioner", "decoder.transformer.wte.weight", "decoder.lm_head.weight"},
      {"marian", "model.shared.weight", "model.decoder.embed_tokens.weight"},
  };
  const fs::path folder = fs::temp_directory_path() / ("attend_tied_" + std::to_string(getpid()));
  for (const auto& item : cases) {
    fs::remove_all(folder);
    fs::copy(std::string("tests/fixtures/data/") + item.fixture, folder);
    const checkpoint::Safetensors file =
        checkpoint::Safetensors::open(std::string("tests/fixtures/data/") + item.fixture + "/model.safetensors");
    checkpoint::SafetensorsWriter writer;
    for (const checkpoint::StoredTensor& tensor : file.tensors()) {
      if (tensor.name == item.other) continue;
      writer.add(tensor.name == item.name ? item.other : tensor.name, tensor.type, tensor.shape, tensor.bytes);
    }
    writer.write((folder / "model.safetensors").string());
    const Outcome outcome = run_attend({"verify", folder.string()});
    EXPECT_EQ(outcome.code, 0) << item.fixture << " " << item.other << ": " << outcome.out << outcome.err;
  }
  fs::remove_all(folder);
}

TEST(Convert, AFileOfTorchWithoutAConfig) {
  const fs::path folder = fs::temp_directory_path() / ("attend_convert_file_" + std::to_string(getpid()));
  fs::create_directories(folder);
  const std::string zoo = "tests/fixtures/data/hub/bin_zoo/", out = (folder / "out.safetensors").string();
  const Outcome outcome = run_attend({"convert", zoo + "views.bin", "--out", out});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const checkpoint::Safetensors made = checkpoint::Safetensors::open(out),
                                twin = checkpoint::Safetensors::open(zoo + "views.safetensors");
  ASSERT_EQ(made.tensors().size(), twin.tensors().size());
  for (const checkpoint::StoredTensor& tensor : twin.tensors())
    EXPECT_TRUE(std::ranges::equal(made[tensor.name].bytes, tensor.bytes)) << tensor.name;
  EXPECT_EQ(run_attend({"convert", zoo + "views.bin", "--out", out}).code, 1);  // it is there already
  EXPECT_EQ(run_attend({"convert", out, "--out", out, "--overwrite"}).code, 1);
  EXPECT_EQ(run_attend({"convert", zoo + "views.bin", "--out", folder.string()}).code, 1);
  EXPECT_EQ(run_attend({"convert", zoo + "views.bin", "--dtype", "int8", "--out", out, "--overwrite"}).code, 1);
  ASSERT_EQ(run_attend({"convert", zoo + "views.bin", "--dtype", "bf16", "--out", out, "--overwrite"}).code, 0);
  EXPECT_EQ(checkpoint::Safetensors::open(out)["t"].type, checkpoint::StoredType::bf16);
  const std::string evil = (folder / "evil.safetensors").string();
  const Outcome refused = run_attend({"convert", zoo + "hostile/os_system.bin", "--out", evil});
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("os.system"), std::string::npos) << refused.err;
  EXPECT_FALSE(fs::exists(evil) || fs::exists("PWNED"));
  fs::remove_all(folder);
}

// Without --dtype numbers stay what they are, of a model in int8 too.
TEST(Convert, KeepsTypesUnlessTold) {
  const fs::path folder = fs::temp_directory_path() / ("attend_convert_keep_" + std::to_string(getpid()));
  const std::string small = (folder / "small").string(), same = (folder / "same").string();
  ASSERT_EQ(run_attend({"convert", kFixture, "--dtype", "int8", "--out", small}).code, 0);
  ASSERT_EQ(run_attend({"convert", small, "--out", same}).code, 0);
  EXPECT_EQ(read_file(small + "/model.safetensors"), read_file(same + "/model.safetensors"));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace attend::test
