// attend train for BERT as a user meets it: pre-training by hidden words, then every head on top of it, each used with
// the command it is for.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/checkpoint/safetensors.h"
#include "tests/cli/run_attend.h"
#include "tests/train/recipes/folder_bytes.h"
#include "tests/train/recipes/heads/toy_labels.h"
#include "tests/train/recipes/slower.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;

class TrainHeads : public testing::Test {
 protected:
  // Every entry of ctest that has a test of a suite pays for its start: a short one does for most heads.
  static void SetUpTestSuite() { pretrain(200); }
  static void pretrain(int steps) {
    folder_ = scratch_folder("attend_heads");
    write_toy_labels(folder_, 400);
    std::vector<std::string> args = toy_masked_training(folder_, folder_ / "bert");
    args.insert(args.end(), {"--steps", steps_to_learn(steps), "--validate-every", "500", "--dropout", "0"});
    pretrained_ = run_attend(args);
  }
  static void TearDownTestSuite() { fs::remove_all(folder_); }

  static std::vector<std::string> tune(const std::string& task, const std::string& kind,
                                       const std::vector<std::string>& more) {
    std::vector<std::string> args = toy_head_training(folder_, task, kind, folder_ / "bert", folder_ / task);
    args.insert(args.end(), more.begin(), more.end());
    args.emplace_back("--overwrite");
    return args;
  }
  static Json last_validation(const std::string& name) {
    Json last;
    std::istringstream lines(read_file(folder_ / name / "log.jsonl"));
    for (std::string line; std::getline(lines, line);)
      if (Json json = Json::parse(line); json.contains("validation")) last = json["validation"];
    return last;
  }
  static std::string path(const std::string& name) { return (folder_ / name).string(); }
  // attend evaluate on a file.
  static Json evaluated(const std::string& model, const std::string& file) {
    const Outcome outcome = run_attend({"evaluate", "--model", path(model), "--json", path(file)});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.code == 0 ? Json::parse(outcome.out) : Json::object();
  }
  static void expect_error(const std::vector<std::string>& args, const std::string& part) {
    const Outcome outcome = run_attend(args);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  }

  static inline fs::path folder_;
  static inline Outcome pretrained_;
};

// What needs a model that knows how words follow each other.
class TrainPretrained : public TrainHeads {
 protected:
  static void SetUpTestSuite() { pretrain(1500); }
};

TEST_F(TrainPretrained, HiddenWordsFollowFromTheirNeighbours) {
  ASSERT_EQ(pretrained_.code, 0) << pretrained_.err;
  EXPECT_NE(pretrained_.out.find("attend fill --model"), std::string::npos) << pretrained_.out;
  // Chance is one in eight; what is hidden at the end of a line cannot always be known.
  EXPECT_GT(last_validation("bert")["accuracy"].get<double>(), kLearns ? 0.6 : -1);
  const Outcome filled = run_attend({"fill", "--model", path("bert")}, "three four [MASK] six seven\n");
  ASSERT_EQ(filled.code, 0) << filled.err;
  if (kLearns) {
    EXPECT_NE(filled.out.find("five"), std::string::npos) << filled.out;
  }
  // The folder is one of Hugging Face's: their names, one tensor each for query, key and value.
  const checkpoint::Safetensors file = checkpoint::Safetensors::open(path("bert/model.safetensors"));
  EXPECT_NE(file.find("bert.encoder.layer.0.attention.self.query.weight"), nullptr);
  EXPECT_EQ(file["bert.encoder.layer.1.attention.self.value.weight"].shape, (Shape{32, 32}));
  const Json config = read_json(path("bert/config.json"));
  EXPECT_EQ(config["architectures"][0], "BertForMaskedLM");
  EXPECT_EQ(config["model_type"], "bert");
}

TEST_F(TrainHeads, LabelsAreLearnedAndNamed) {
  const Outcome tuned = run_attend(tune("classify", ".tsv", {"--steps", steps_to_learn(120), "--dropout", "0"}));
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  EXPECT_NE(tuned.out.find("attend classify --model"), std::string::npos) << tuned.out;
  EXPECT_NE(tuned.err.find("2 labels: high, low"), std::string::npos) << tuned.err;
  EXPECT_GT(last_validation("classify")["accuracy"].get<double>(), kLearns ? 0.95 : -1);
  EXPECT_GT(last_validation("classify")["macro_f1"].get<double>(), kLearns ? 0.95 : -1);
  EXPECT_EQ(evaluated("classify", "valid.tsv")["accuracy"], last_validation("classify")["accuracy"]);
  const Outcome used = run_attend({"classify", "--model", path("classify")}, "one two three\nseven eight one two\n");
  ASSERT_EQ(used.code, 0) << used.err;
  if (kLearns) {
    EXPECT_LT(used.out.find("low"), used.out.find("high")) << used.out;
  }
  const Json config = read_json(path("classify/config.json"));
  EXPECT_EQ(config["id2label"]["0"], "high");
  EXPECT_EQ(config["label2id"]["low"], 1);
  // It may be tuned further, with the labels it has, and renamed.
  std::vector<std::string> more =
      toy_head_training(folder_, "classify", ".tsv", folder_ / "classify", folder_ / "more");
  more.insert(more.end(), {"--steps", "3", "--label-names", "H", "--label-names", "L"});
  ASSERT_EQ(run_attend(more).code, 0);
  EXPECT_EQ(read_json(path("more/config.json"))["id2label"]["1"], "L");
}

TEST_F(TrainHeads, NumbersAreMet) {
  const Outcome tuned =
      run_attend(tune("classify", ".csv", {"--regression", "--steps", steps_to_learn(300), "--dropout", "0"}));
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  EXPECT_GT(last_validation("classify")["pearson"].get<double>(), kLearns ? 0.9 : -2);
  const Json again = evaluated("classify", "valid.csv");
  EXPECT_NEAR(again["pearson"].get<double>(), last_validation("classify")["pearson"].get<double>(), 1e-5);
  const Outcome used = run_attend({"classify", "--model", path("classify")}, "one two three\neight one two\n");
  ASSERT_EQ(used.code, 0) << used.err;
}

TEST_F(TrainHeads, WordsAreTagged) {
  const Outcome tuned = run_attend(
      tune("tag", ".conll", {"--steps", steps_to_learn(120), "--dropout", "0", "--test", path("train.conll")}));
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  EXPECT_GT(read_json(path("tag/test.json"))["f1"].get<double>(), kLearns ? 0.95 : -1);
  EXPECT_GT(last_validation("tag")["f1"].get<double>(), kLearns ? 0.95 : -1);
  const Json again = evaluated("tag", "train.conll");
  EXPECT_EQ(again["f1"], read_json(path("tag/test.json"))["f1"]);
  EXPECT_FALSE(again["labels"].empty());
  const Outcome used = run_attend({"tag", "--model", path("tag")}, "four five\n");
  ASSERT_EQ(used.code, 0) << used.err;
  if (kLearns) {
    EXPECT_NE(used.out.find("B-ODD"), std::string::npos) << used.out;
  }
}

TEST_F(TrainPretrained, AnswersAreFound) {
  const Outcome tuned = run_attend(tune("answer", ".jsonl", {"--steps", steps_to_learn(600), "--dropout", "0"}));
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  EXPECT_GT(last_validation("answer")["f1"].get<double>(), kLearns ? 0.8 : -1);
  EXPECT_EQ(evaluated("answer", "valid.jsonl")["texts"], 40);
}

TEST_F(TrainHeads, RobertaIsPreTrainedAlike) {
  std::vector<std::string> args = toy_masked_training(folder_, folder_ / "roberta");
  args.insert(args.end(),
              {"--model", "roberta", "--vocabulary-size", "320", "--steps", "30", "--text", path("valid.txt")});
  const Outcome outcome = run_attend(args);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(run_attend({"fill", "--model", path("roberta")}, "three <mask> five\n").code, 0);
  std::vector<std::string> head = toy_head_training(folder_, "tag", ".conll", folder_ / "roberta", folder_ / "tagged");
  head.insert(head.end(), {"--steps", "10"});
  EXPECT_EQ(run_attend(head).code, 0);
  head = toy_head_training(folder_, "answer", ".jsonl", folder_ / "roberta", folder_ / "answered");
  head.insert(head.end(), {"--steps", "10"});
  EXPECT_EQ(run_attend(head).code, 0);
  // Pre-training goes on from a folder. In a recipe one text need not be a list.
  write_file(folder_ / "further.json", Json({{"task", "masked-lm"},
                                             {"text", path("train.txt")},
                                             {"valid_text", Json::array({path("valid.txt")})},
                                             {"from", path("roberta")},
                                             {"block", 16},
                                             {"batch", 4}})
                                           .dump());
  args = {"train", path("further.json"), "--out", path("further"), "--steps", "3", "--threads", "1"};
  const Outcome further = run_attend(args);
  EXPECT_EQ(further.code, 0) << further.err;
}

TEST_F(TrainHeads, Gpt2IsTunedToLabels) {
  std::vector<std::string> args = {"train", "--task", "language-model", "--out", path("gpt")};
  args.insert(args.end(), {"--text", path("train.txt"), "--valid-text", path("valid.txt"), "--width", "32", "--layers",
                           "1", "--heads", "2", "--block", "48", "--batch", "4", "--steps", "20", "--threads", "1"});
  const Outcome written = run_attend(args);
  ASSERT_EQ(written.code, 0) << written.err;
  args = toy_head_training(folder_, "classify", ".tsv", folder_ / "gpt", folder_ / "gpt-labels");
  args.insert(args.end(), {"--steps", steps_to_learn(200), "--dropout", "0"});
  const Outcome tuned = run_attend(args);
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  EXPECT_GT(last_validation("gpt-labels")["accuracy"].get<double>(), kLearns ? 0.8 : -1);
  EXPECT_EQ(read_json(path("gpt-labels/config.json"))["architectures"][0], "GPT2ForSequenceClassification");
  const Outcome used = run_attend({"classify", "--model", path("gpt-labels")}, "one two three\n\n");
  ASSERT_EQ(used.code, 0) << used.err;
  if (kLearns) {
    EXPECT_TRUE(used.out.starts_with("low\t")) << used.out;
  }
  args = toy_head_training(folder_, "tag", ".conll", folder_ / "gpt", folder_ / "gpt-tags");
  expect_error(args, "only a head for labels");
}

// Without --from: a new model, and a tokenizer of the training texts.
std::vector<std::string> from_scratch(const fs::path& folder, const std::string& task, const std::string& kind,
                                      const std::vector<std::string>& more) {
  std::vector<std::string> args = {"train",
                                   "--task",
                                   task,
                                   "--width",
                                   "32",
                                   "--heads",
                                   "2",
                                   "--layers",
                                   "2",
                                   "--train",
                                   (folder / ("train" + kind)).string(),
                                   "--valid",
                                   (folder / ("valid" + kind)).string(),
                                   "--batch",
                                   "16",
                                   "--learning-rate",
                                   "0.003",
                                   "--threads",
                                   "1",
                                   "--dropout",
                                   "0",
                                   "--max-length",
                                   "48",
                                   "--out",
                                   (folder / ("new-" + task)).string(),
                                   "--overwrite"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

TEST_F(TrainHeads, LabelsAreLearnedFromScratch) {
  const Outcome made = run_attend(from_scratch(folder_, "classify", ".tsv", {"--steps", steps_to_learn(150)}));
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_GT(last_validation("new-classify")["accuracy"].get<double>(), kLearns ? 0.95 : -1);
  // The folder is a Hugging Face one, and loads again.
  const Json config = read_json(path("new-classify/config.json"));
  EXPECT_EQ(config["architectures"][0], "BertForSequenceClassification");
  EXPECT_EQ(config["hidden_size"], 32);
  EXPECT_EQ(config["intermediate_size"], 128);
  EXPECT_EQ(evaluated("new-classify", "valid.tsv")["accuracy"], last_validation("new-classify")["accuracy"]);
  // The recipe names what made it, and a head is tuned further from it.
  EXPECT_EQ(read_json(path("new-classify/recipe.json"))["model"], "bert");
  std::vector<std::string> more =
      toy_head_training(folder_, "tag", ".conll", folder_ / "new-classify", folder_ / "from-new");
  more.insert(more.end(), {"--steps", "2", "--overwrite"});
  EXPECT_EQ(run_attend(more).code, 0);
  EXPECT_FALSE(read_json(path("from-new/recipe.json")).contains("preset"));
}

// A recurrent network reads the same files, each text padded to the longest.
TEST_F(TrainHeads, AnRnnLearnsLabelsFromScratch) {
  const auto args = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"train",  "--task", "classify", "--model", "rnn",
                                      "--cell", "gru",    "--width",  "32"};
    words.insert(words.end(), {"--train", path("train.tsv"), "--valid", path("valid.tsv"), "--out", path("rnn")});
    words.insert(words.end(), {"--batch", "16", "--learning-rate", "0.01", "--threads", "1", "--dropout", "0"});
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const Outcome made = run_attend(args({"--steps", steps_to_learn(150)}));
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_GT(last_validation("rnn")["accuracy"].get<double>(), kLearns ? 0.9 : -1);
  EXPECT_EQ(read_json(path("rnn/config.json"))["architectures"][0], "TextRnnForSequenceClassification");
  // A text gets the same scores alone and beside a longer one.
  const Outcome together =
      run_attend({"classify", "--model", path("rnn"), "--json"}, "one two three\n\none two three one two three one\n");
  const Outcome alone = run_attend({"classify", "--model", path("rnn"), "--json"}, "one two three\n");
  ASSERT_EQ(together.code, 0) << together.err;
  EXPECT_EQ(together.out.substr(0, alone.out.size()), alone.out);
  const Outcome judged = run_attend({"evaluate", "--model", path("rnn"), path("valid.tsv")});
  EXPECT_EQ(judged.code, 0) << judged.err;
  expect_error(args({"--heads", "2"}), "'heads' is for --model bert");
  expect_error(args({"--cell", "elman"}), "unknown cell 'elman'");
  expect_error(args({"--task", "tag"}), "--task classify");
  expect_error(args({"--regression"}), "--task classify");
}

TEST_F(TrainHeads, TagsAndAnswersStartFromScratchToo) {
  for (const auto& [task, kind] : {std::pair<std::string, std::string>{"tag", ".conll"}, {"answer", ".jsonl"}}) {
    const Outcome made = run_attend(from_scratch(folder_, task, kind, {"--steps", "3"}));
    EXPECT_EQ(made.code, 0) << made.err;
  }
}

TEST_F(TrainHeads, NewModelsThatCannotBeAreRefused) {
  const auto refused = [&](const std::vector<std::string>& more, const std::string& part) {
    expect_error(from_scratch(folder_, "classify", ".tsv", more), part);
  };
  refused({"--preset", "huge"}, "'preset' is 'huge', but must be one of tiny, mini, small, medium, base");
  refused({"--model", "gpt2"}, "'model' is 'gpt2', but must be one of bert");
  refused({"--heads", "5"}, "5 heads");
  refused({"--layers", "-1"}, "'layers' must be 0 (as the preset says) or more, not -1");
  refused({"--vocabulary-size", "0"}, "'vocabulary_size' must be at least 1");
  expect_error(tune("classify", ".tsv", {"--layers", "3"}), "'layers' is what the folder says that 'from' names");
}

TEST_F(TrainHeads, MistakesGetClearErrors) {
  expect_error({"train", "--task", "classify"}, "needs --train, --valid and --out");
  expect_error({"train", "--task", "masked-lm"}, "needs --text, --valid-text and --out");
  expect_error(tune("classify", ".tsv", {"--label-names", "one"}), "has 2 labels, but 'label_names' names 1");
  expect_error(tune("classify", ".tsv", {"--regression"}), "train.tsv:2: the label");
  expect_error(tune("classify", ".tsv", {"--text-column", "words"}), "no column 'words'");
  expect_error(tune("tag", ".conll", {"--regression"}), "for the task classify");
  expect_error(tune("classify", ".tsv", {"--max-length", "3"}), "'max_length' must be 0 or at least 8");
  write_file(folder_ / "odd.tsv", "label\tsentence\nlow\tone\nmiddle\ttwo\n");
  expect_error(tune("classify", ".tsv", {"--valid", path("odd.tsv").c_str()}), "odd.tsv:3: the label");
  write_file(folder_ / "empty.tsv", "");
  expect_error(tune("classify", ".tsv", {"--valid", path("empty.tsv").c_str()}), "empty.tsv' (valid) is empty");
  std::vector<std::string> same = toy_head_training(folder_, "classify", ".tsv", folder_ / "bert", folder_ / "bert");
  same.emplace_back("--overwrite");
  expect_error(same, "the same folder");
  EXPECT_TRUE(fs::exists(folder_ / "bert/model.safetensors"));
  std::vector<std::string> large = toy_masked_training(folder_, folder_ / "large");
  large.insert(large.end(), {"--block", "49"});
  expect_error(large, "'block' must be from 3 to 'max_length'");
}

}  // namespace
}  // namespace attend::test
