// --from for GPT-2 and translators: a run begins with the folder's weights and tokens, and so at its loss; --freeze
// leaves parts of it as they are.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/checkpoint/safetensors.h"
#include "tests/cli/run_attend.h"
#include "tests/train/recipes/folder_bytes.h"
#include "tests/train/recipes/translation/toy_corpus.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;

class StartFrom : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = scratch_folder("attend_start_from");
    write_toy_corpus(folder_, {.pairs = 300, .seed = 4});
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  static void run(std::vector<std::string> args, const std::vector<std::string>& more) {
    args.insert(args.end(), more.begin(), more.end());
    const Outcome outcome = run_attend(args);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }
  static std::string error_of(std::vector<std::string> args, const std::vector<std::string>& more) {
    args.insert(args.end(), more.begin(), more.end());
    const Outcome outcome = run_attend(args);
    EXPECT_EQ(outcome.code, 1) << outcome.out;
    return outcome.err;
  }
  std::vector<std::string> writer(const std::string& out) const {
    return {"train",
            "--task",
            "language-model",
            "--text",
            path("train.en"),
            "--valid-text",
            path("valid.en"),
            "--block",
            "16",
            "--batch",
            "8",
            "--threads",
            "1",
            "--out",
            path(out)};
  }
  std::vector<std::string> translator(const std::string& out) const {
    return {"train",
            "--source",
            path("train.en"),
            "--target",
            path("train.fr"),
            "--valid-source",
            path("valid.en"),
            "--valid-target",
            path("valid.fr"),
            "--tokens",
            "128",
            "--threads",
            "1",
            "--out",
            path(out)};
  }
  // Of the last validation.
  double loss_of(const std::string& out) const {
    double loss = NAN;
    std::istringstream lines(read_file(folder_ / out / "log.jsonl"));
    for (std::string line; std::getline(lines, line);)
      if (const Json json = Json::parse(line); json.contains("validation"))
        loss = json["validation"]["loss"].get<double>();
    return loss;
  }
  std::vector<float> weights_of(const std::string& out, const std::string& name) const {
    return checkpoint::Safetensors::open(path(out + "/model.safetensors")).floats(name);
  }

  fs::path folder_;
};

const std::vector<std::string> kHardly = {"--steps", "1", "--learning-rate", "1e-12", "--average", "1"};

TEST_F(StartFrom, AWriterGoesOnFromItsFolder) {
  run(toy_language_training(folder_, folder_ / "first"),
      {"--steps", "80", "--dropout", "0", "--vocabulary-size", "280", "--average", "1"});
  std::vector<std::string> more = kHardly;
  more.insert(more.end(), {"--from", path("first")});
  run(writer("second"), more);
  EXPECT_NEAR(loss_of("second"), loss_of("first"), 1e-5);
  EXPECT_LT(loss_of("second"), 4);  // 5.6 of 280 tokens that are all the same
  EXPECT_EQ(read_file(folder_ / "second/tokenizer.json"), read_file(folder_ / "first/tokenizer.json"));
  EXPECT_EQ(read_json(folder_ / "second/config.json")["n_embd"], 32);
  EXPECT_NE(
      error_of(writer("third"), {"--from", path("first"), "--width", "64"}).find("'width' is what the folder says"),
      std::string::npos);
  EXPECT_NE(error_of(writer("third"), {"--from", "models/bert"}).find("cannot be the start"), std::string::npos);
  // It is resumed as any other, and without the folder it began with.
  fs::rename(folder_ / "first", folder_ / "gone");
  run({"train", "--resume", "--out", path("second"), "--steps", "3"}, {});
}

// A folder as Hugging Face's hub has them, by a shipped model's name.
TEST_F(StartFrom, AShippedWriterGoesOn) {
  run({"convert"}, {"shakespeare", "--dtype", "f32", "--out", path("whole")});
  std::vector<std::string> more = kHardly;
  more.insert(more.end(), {"--from", path("whole")});
  run(writer("tuned"), more);
  const auto said = [&](const std::string& model) {
    return run_attend({"generate", "--model", model, "--greedy", "--max-tokens", "12", "ROMEO:"}).out;
  };
  EXPECT_EQ(said(path("tuned")), said(path("whole")));
  more.back() = "shakespeare";
  run(writer("named"), more);
  EXPECT_EQ(read_file(folder_ / "named/tokenizer.json"), read_file("models/shakespeare/tokenizer.json"));
}

TEST_F(StartFrom, TranslatorsGoOnFromTheirFolders) {
  for (const std::string model : {"transformer", "rnn-attention"}) {
    const std::string first = "first-" + model, second = "second-" + model;
    run(toy_training(folder_, folder_ / first, model), {"--steps", "60", "--dropout", "0", "--average", "1"});
    std::vector<std::string> more = kHardly;
    more.insert(more.end(), {"--from", path(first)});
    run(translator(second), more);
    EXPECT_NEAR(loss_of(second), loss_of(first), 1e-5) << model;
    EXPECT_EQ(read_file(folder_ / second / "tokenizer.json"), read_file(folder_ / first / "tokenizer.json"));
    EXPECT_EQ(run_attend({"translate", "--model", path(second)}, "one two three\n").out,
              run_attend({"translate", "--model", path(first)}, "one two three\n").out);
  }
  EXPECT_NE(
      error_of(translator("x"), {"--from", path("first-transformer"), "--preset", "tiny"}).find("'preset' is what"),
      std::string::npos);
}

TEST_F(StartFrom, FrozenPartsStayAsTheyAre) {
  run(toy_training(folder_, folder_ / "first"), {"--steps", "5", "--average", "1"});
  run(translator("second"), {"--from", path("first"), "--steps", "5", "--average", "1", "--freeze", "encoder",
                             "--freeze", "embedding.weight"});
  EXPECT_EQ(weights_of("first", "embedding.weight"), weights_of("second", "embedding.weight"));
  const std::string encoder = "encoder.layers.0.linear1.weight", decoder = "decoder.layers.0.linear1.weight";
  EXPECT_EQ(weights_of("first", encoder), weights_of("second", encoder));
  EXPECT_NE(weights_of("first", decoder), weights_of("second", decoder));
  EXPECT_NE(error_of(translator("third"), {"--from", path("first"), "--freeze", "encodr"}).find("fits no parameter"),
            std::string::npos);
  EXPECT_NE(error_of(translator("third"), {"--from", "bert"}).find("cannot be the start ('from') of a model for"),
            std::string::npos);
}

TEST_F(StartFrom, MarianGoesOnAsOneOfOurs) {
  const fs::path marian = folder_ / "marian";
  write_toy_marian(marian);
  std::vector<std::string> more = kHardly;
  more.insert(more.end(), {"--from", marian.string(), "--bleu-sentences", "0", "--select", "loss"});
  run(translator("tuned"), more);
  EXPECT_EQ(read_json(folder_ / "tuned/config.json")["model_type"], "transformer");
  EXPECT_EQ(read_file(folder_ / "tuned/target.spm"), read_file(marian / "target.spm"));
  const std::vector<std::string> words = {"translate", "--beams", "2", "--alpha", "0.6", "--json", "--model"};
  std::vector<std::string> before = words, after = words;
  before.push_back(marian.string()), after.push_back(path("tuned"));
  const Json was = Json::parse(run_attend(before, "one two\n").out),
             is = Json::parse(run_attend(after, "one two\n").out);
  EXPECT_EQ(was["text"], is["text"]);
  EXPECT_NEAR(was["translations"][0]["score"].get<double>(), is["translations"][0]["score"].get<double>(), 1e-4);
}

}  // namespace
}  // namespace attend::test
