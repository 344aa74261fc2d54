// attend evaluate for every kind of model, with the shipped ones and by their names; and what is said when the model or
// the data is of another kind.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "attend/base/files.h"
#include "attend/base/json.h"
#include "tests/cli/run_attend.h"
#include "tests/train/recipes/folder_bytes.h"

namespace attend::test {
namespace {

class Evaluate : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = scratch_folder("attend_evaluate");
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& content) const {
    write_file(folder_ / name, content);
    return (folder_ / name).string();
  }
  static Json json_of(std::vector<std::string> words) {
    words.insert(words.begin(), {"evaluate", "--json", "--threads", "1"});
    const Outcome outcome = run_attend(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.code == 0 ? Json::parse(outcome.out) : Json::object();
  }
  static std::string text_of(std::vector<std::string> words) {
    words.insert(words.begin(), "evaluate");
    const Outcome outcome = run_attend(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  }

  std::filesystem::path folder_;
};

void expect_error(const std::vector<std::string>& words, const std::string& part, const std::string& input = "") {
  const Outcome outcome = run_attend(words, input);
  EXPECT_EQ(outcome.code, 1) << words[0];
  EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
}

TEST_F(Evaluate, ATranslatorOnWhatItWritesItself) {
  const std::string lines = "I am a student.\nShe is a student.\nWhere are you?\n";
  const std::string written = run_attend({"translate"}, lines).out;
  const std::string source = file("test.en", lines), right = file("right.fr", written);
  const Json perfect = json_of({"--model", "en-fr", source, right});
  EXPECT_EQ(perfect["exact_match"], 1.0);
  EXPECT_NEAR(perfect["bleu"].get<double>(), 100, 1e-6);
  EXPECT_TRUE(perfect["worst"].empty());
  const std::string wrong = file("wrong.fr", written.substr(0, written.find('\n')) + "\nrien\nrien du tout\n");
  const Json worse = json_of({"--model", "en-fr", source, wrong});
  EXPECT_NEAR(worse["exact_match"].get<double>(), 1.0 / 3, 1e-9);
  EXPECT_EQ(worse["worst"].size(), 2u);
  // With both as references the better one counts.
  EXPECT_EQ(json_of({"--model", "en-fr", source, wrong, right})["exact_match"], 1.0);
  EXPECT_NE(text_of({"--model", "en-fr", source, wrong}).find("should be  rien"), std::string::npos);
  expect_error({"evaluate", "--model", "en-fr", source}, "needs the text to translate and its translation");
  expect_error({"evaluate", "--model", "en-fr", source, file("short.fr", "un\n")}, "has 3 lines but");
}

TEST_F(Evaluate, LabelsOfTexts) {
  const std::string texts = file("dev.tsv",
                                 "sentence\tlabel\na gripping and moving film\tpositive\n"
                                 "dull , stupid and far too long\tnegative\nan utter mess\tpositive\n");
  const Json json = json_of({"--model", "bert-sst2", texts});
  EXPECT_NEAR(json["accuracy"].get<double>(), 2.0 / 3, 1e-9);
  ASSERT_EQ(json["worst"].size(), 1u);
  EXPECT_EQ(json["worst"][0]["text"], "an utter mess");
  EXPECT_EQ(json["worst"][0]["truth"], "positive");
  EXPECT_EQ(json["labels"].size(), 2u);
  const std::string text = text_of({"--model", "bert-sst2", texts});
  EXPECT_NE(text.find("the worst:"), std::string::npos) << text;
  // Numbers in a file stand for the model's labels, in their order.
  const std::string first = json["labels"][0]["label"].get<std::string>();
  const std::string numbers = file("numbers.tsv", std::string("sentence\tlabel\na gripping and moving film\t") +
                                                      (first == "positive" ? "0" : "1") + "\n");
  EXPECT_EQ(json_of({"--model", "bert-sst2", numbers})["accuracy"], 1.0);
  expect_error({"evaluate", "--model", "bert-sst2", file("other.tsv", "sentence\tlabel\na\tred\nb\tblue\n")},
               "the model has no label 'red'");
}

TEST_F(Evaluate, LabelledTextsAreNotClassifiedAsPairs) {
  expect_error({"classify", "--model", "bert-sst2"}, "attend evaluate --model", "positive\ta gripping film\n");
  expect_error({"classify", "--model", "bert-sst2"}, "beside its text", "a gripping film\t1\n");
  EXPECT_EQ(run_attend({"classify", "--model", "bert-sst2", "--pairs"}, "1\ta gripping film\n").code, 0);
  EXPECT_EQ(run_attend({"classify", "--model", "bert-sst2"}, "a gripping film\tan utter mess\n").code, 0);
}

TEST_F(Evaluate, PerplexityOfAWriter) {
  const std::string text = file("play.txt", "ROMEO:\nWhat shall I do with thee, my gentle lord?\n");
  const Json json = json_of({"--model", "shakespeare", text, "--worst", "3"});
  const Outcome other = run_attend({"perplexity", "--model", "shakespeare", "--json", text});
  ASSERT_EQ(other.code, 0) << other.err;
  EXPECT_EQ(json["perplexity"], Json::parse(other.out)["perplexity"]);
  const auto characters = static_cast<double>(read_file(text).size());
  EXPECT_NEAR(json["nats_per_character"].get<double>() * characters,
              json["nats"].get<double>() * json["tokens"].get<double>(), 1e-6);
  ASSERT_EQ(json["worst"].size(), 3u);
  EXPECT_LE(json["worst"][0]["probability"].get<double>(), json["worst"][1]["probability"].get<double>());
}

TEST_F(Evaluate, HiddenWords) {
  const std::string text =
      file("lines.txt", "The film is a moving story about a small town .\nHe was born in the city .\n");
  const Json json = json_of({"--model", "bert", text, "--masked", "0.3"});
  EXPECT_GE(json["hidden"].get<int>(), 2);
  EXPECT_NEAR(std::log(json["perplexity"].get<double>()), json["nats"].get<double>(), 1e-9);
  EXPECT_EQ(json, json_of({"--model", "bert", text, "--masked", "0.3"}));  // the same are hidden every time
}

TEST_F(Evaluate, ModelsOfAnotherKindNameTheirCommand) {
  expect_error({"evaluate", "--model", "no-such-model", "x"}, "the bundled ones are bert, bert-sst2, dates");
  expect_error({"classify", "--model", "vit-cifar1", "x.png"}, "did you mean 'vit-cifar10'?");
  expect_error({"fill", "--model", "en-fr"}, "use attend translate");
  expect_error({"generate", "--model", "bert"}, "use attend fill", "a\n");
  expect_error({"detect", "--model", "vit-cifar10", "x.png"}, "use attend classify");
  expect_error({"describe", "--model", "vit-cifar10", "x.png"}, "use attend classify");
  expect_error({"draw", "--model", "bert", "--out", "x.png"}, "use attend fill");
  expect_error({"tag", "--model", "bert-sst2"}, "use attend classify", "a\n");
}

}  // namespace
}  // namespace attend::test
