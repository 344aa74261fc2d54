// Input that is not what it should be: endless lines, byte order marks, escape codes in names, missing files. Each
// command says in one line what is wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "attend/base/files.h"
#include "attend/image/encode.h"
#include "tests/cli/run_attend.h"
#include "tests/tasks/changed_folder.h"
#include "tests/tasks/translator_fixture.h"

namespace attend::test::hostile_input {
namespace {

const std::string kLong(3 << 20, 'a');
const std::string kTokenizer = "tests/fixtures/data/text/bytelevel_bpe_roberta.tokenizer.json";

void expect_error(const Outcome& outcome, const std::string& part) {
  EXPECT_EQ(outcome.code, 1) << outcome.out.substr(0, 200);
  EXPECT_NE(outcome.err.find(part), std::string::npos) << "want '" << part << "' in: " << outcome.err;
  EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
}

// A classifier's folder with a tokenizer of its own.
class Classifier : public ChangedFolder {
 public:
  Classifier() : ChangedFolder("tests/fixtures/data/bert_classify") {
    write_file(path() + "/tokenizer.json",
               R"({"model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": {"[UNK]": 0, "a": 1, "b": 2}},
                   "pre_tokenizer": {"type": "BertPreTokenizer"}})");
  }
};

TEST(HostileInput, EndlessLinesNameTheLimitAndTheFlag) {
  const ModelFolder translator;
  const Classifier classifier;
  const std::string limit = "line 1: longer than 1048576 bytes; --max-line raises the limit";
  expect_error(run_attend({"tokenize", "--tokenizer", kTokenizer}, kLong), limit);
  expect_error(run_attend({"translate", "--model", translator.path().string()}, kLong), limit);
  expect_error(run_attend({"classify", "--model", classifier.path()}, kLong), limit);
  expect_error(run_attend({"embed", "--model", classifier.path()}, kLong), limit);
  EXPECT_EQ(run_attend({"tokenize", "--tokenizer", kTokenizer, "--max-line", "4000000"}, kLong).code, 0);
  expect_error(run_attend({"tokenize", "--tokenizer", kTokenizer, "--max-line", "4"}, "abcd\nabcde\n"),
               "standard input, line 2: longer than 4 bytes");
}

TEST(HostileInput, ByteOrderMarksAreNotText) {
  const std::string mark = "\xEF\xBB\xBF", text = "the house is blue\n";
  const ModelFolder translator;
  const Classifier classifier;
  for (const std::vector<std::string>& words : {std::vector<std::string>{"tokenize", "--tokenizer", kTokenizer},
                                                {"translate", "--model", translator.path().string()},
                                                {"classify", "--model", classifier.path(), "--top-k", "0"}}) {
    const Outcome with = run_attend(words, mark + text), without = run_attend(words, text);
    EXPECT_EQ(with.code, 0) << with.err;
    EXPECT_EQ(with.out, without.out);
    EXPECT_FALSE(with.out.empty());
  }
}

// Every command that reads text, from a file and from standard input.
TEST(HostileInput, AImageIsNotText) {
  const ModelFolder translator;
  const Classifier classifier;
  const std::string png("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x20", 20);
  const std::string folder = testing::TempDir() + "attend_a_image_is_not_text", file = folder + "/a.png";
  std::filesystem::create_directories(folder);
  write_file(file, png);
  const std::string about = "this is a PNG image, not text", qa = "tests/fixtures/data/bert_qa",
                    model = translator.path().string();
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"tokenize", "--tokenizer", kTokenizer},
                                             {"translate", "--model", model},
                                             {"classify", "--model", classifier.path()},
                                             {"embed", "--model", classifier.path()},
                                             {"generate", "--model", "shakespeare"},
                                             {"generate", "--model", "shakespeare", "--prompts", "-"},
                                             {"generate", "--model", "shakespeare", "--prompts", file},
                                             {"perplexity", "--model", "shakespeare"},
                                             {"answer", "--model", qa, "--question", "who?"},
                                             {"answer", "--model", qa, "--question", "who?", "--context", file},
                                             {"translate", "--model", model, file},
                                             {"classify", "--model", classifier.path(), file},
                                             {"score", "--hypotheses", file, "--references", file},
                                             {"evaluate", "--model", "bert-sst2", file},
                                             {"train-tokenizer", file, "--out", folder + "/t.json"}})
    expect_error(run_attend(words, png), about);
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"train", "--task", "language-model", "--text", file, "--valid-text", file},
           {"train", "--source", file, "--target", file, "--valid-source", file, "--valid-target", file},
           {"train", "--task", "classify", "--from", "bert", "--train", file, "--valid", file}}) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--out", folder + "/run", "--steps", "1"});
    const Outcome outcome = run_attend(all);
    EXPECT_EQ(outcome.code, 1) << outcome.out;
    EXPECT_NE(outcome.err.find(about), std::string::npos) << words[2] << outcome.err;
  }
  std::filesystem::remove_all(folder);
}

TEST(HostileInput, LabelsAndMessagesHaveNoEscapeCodes) {
  const Classifier classifier;
  classifier.set("id2label", {{"0", "\x1b[31mred"}, {"1", "b\nc"}, {"2", "\u009b2J"}});
  const Outcome outcome = run_attend({"classify", "--model", classifier.path(), "--top-k", "0"}, "a b\n");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos);
  EXPECT_NE(outcome.out.find("\\x1b[31mred"), std::string::npos) << outcome.out;
  EXPECT_EQ(std::ranges::count(outcome.out, '\n'), 1) << outcome.out;
  const Classifier model;
  model.set("model_type", "\x1b[2Jhidden");
  const Outcome refused = run_attend({"classify", "--model", model.path()}, "a\n");
  EXPECT_EQ(refused.err.find('\x1b'), std::string::npos);
  expect_error(refused, "hidden");
  expect_error(run_attend({"classify", "--model", "\x1b[31m"}, "a\n"), "\\x1b[31m");
}

TEST(HostileInput, AContextThatIsNotThereIsNotTheContext) {
  const std::vector<std::string> words = {"answer", "--model", "tests/fixtures/data/bert_qa", "--question", "who?"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    return run_attend(more, "");
  };
  expect_error(with({"--context", "typo.txt"}), "cannot open 'typo.txt'");
  expect_error(with({"--context", "typo.txt", "--context-text", "text"}), "give one");
  expect_error(with({"--context-text", kLong}), "the context has 3145728 bytes, more than 1048576; --max-line raises");
}

// Every command that reads images: what is beyond the limit is not decoded, and the limit can be raised and lowered.
TEST(HostileInput, ImagesBeyondThePixelsAreRefused) {
  const std::string folder = testing::TempDir() + "attend_beyond_the_pixels", file = folder + "/a.png";
  write_file(file, image::encode_png(image::Image(32, 32)));
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"classify", "--model", "vit-fashion-mnist", file},
           {"classify", "--model", "vit-fashion-mnist", file, "--show-attention"},
           {"embed", "--model", "vit-fashion-mnist", file},
           {"describe", "--model", "flickr8k", "--beams", "1", file},
           {"detect", "--model", "detr-scenes", file},
           {"preprocess", "--model", "vit-fashion-mnist", file, "--out", folder + "/a.safetensors"},
           {"look", "--model", "vit-fashion-mnist", "--image", file, "--svg", folder + "/a.svg"}}) {
    std::vector<std::string> fewer = words, enough = words;
    fewer.insert(fewer.end(), {"--max-pixels", "1023"}), enough.insert(enough.end(), {"--max-pixels", "1024"});
    const Outcome refused = run_attend(fewer);
    EXPECT_EQ(refused.code, 1) << words[0];
    EXPECT_NE(refused.err.find("32 x 32 is too large: at most 1023 pixels"), std::string::npos) << refused.err;
    EXPECT_EQ(run_attend(enough).code, 0) << words[0];
  }
  std::filesystem::remove_all(folder);
}

TEST(HostileInput, PathsThatNoFileSystemTakesAreErrorsInPlainWords) {
  const std::string endless(5000, 'x');
  for (const std::vector<std::string>& words : {std::vector<std::string>{"verify", endless},
                                                {"tokenize", "--tokenizer", endless},
                                                {"translate", "--model", "en-fr", endless},
                                                {"convert", "tests/fixtures/data/gpt2", "--out", endless},
                                                {"look", "--run", endless},
                                                {"info", endless}}) {
    const Outcome outcome = run_attend(words, "");
    EXPECT_EQ(outcome.code, 1) << words[0];
    EXPECT_EQ(outcome.err.find("filesystem error"), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.rfind("attend: ", 0), 0u) << outcome.err;
  }
}

}  // namespace
}  // namespace attend::test::hostile_input
