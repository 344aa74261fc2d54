// Folders with settings and ids that make no sense: every one is an Error that names the file and the value, and none
// reads or writes beyond a table, or takes memory for a model that its files do not hold.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/cli/program.h"
#include "attend/verify/verify.h"
#include "tests/cli/run_attend.h"
#include "tests/tasks/changed_folder.h"
#include "tests/tasks/translator_fixture.h"
#include "tests/tensor/tensors.h"

namespace attend::test::hostile_folder {
namespace {

const std::filesystem::path kData = "tests/fixtures/data";

void expect_refused(const Outcome& outcome, const std::string& part) {
  EXPECT_EQ(outcome.code, 1) << outcome.out;
  EXPECT_NE(outcome.err.find(part), std::string::npos) << "want '" << part << "' in: " << outcome.err;
  EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
}

TEST(HostileFolder, StartTokensOfMarianMustBeInTheTable) {
  for (const std::int64_t id : {std::int64_t{-1}, std::int64_t{1'000'000'000}, std::int64_t{113}, INT64_MIN})
    for (const char* key : {"decoder_start_token_id", "pad_token_id", "eos_token_id"}) {
      const ChangedFolder folder(kData / "marian");
      folder.set(key, id);
      expect_refused(run_attend({"verify", folder.path()}), std::string(key) + " is " + std::to_string(id));
    }
}

struct BadId {
  const char* folder;
  const char* tensor;
};

class IdsOfAFile : public testing::TestWithParam<BadId> {};

TEST_P(IdsOfAFile, MustBeRowsOfTheTable) {
  const auto& [name, tensor] = GetParam();
  for (const std::int64_t id : {std::int64_t{-1}, std::int64_t{1'000'000'000}, std::int64_t{113}}) {
    const ChangedFolder folder(kData / name);
    folder.set_first(tensor, id);
    expect_refused(run_attend({"verify", folder.path()}), fmt::format("'{}' holds {} at 0", tensor, id));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Fixtures, IdsOfAFile,
    testing::Values(BadId{"marian", "input_ids"}, BadId{"marian", "labels"}, BadId{"gpt2", "input_ids"},
                    BadId{"gpt2_training", "input_ids"}, BadId{"bert_base", "input_ids"},
                    BadId{"bert_base", "token_type_ids"}, BadId{"bert_masked_lm", "labels"},
                    BadId{"bert_classify", "labels"}, BadId{"bert_tag", "labels"}, BadId{"bert_qa", "start_positions"},
                    BadId{"bert_qa", "end_positions"}, BadId{"bert_pretraining", "next_sentence_label"},
                    BadId{"roberta_masked_lm", "input_ids"}, BadId{"distilbert_classify", "input_ids"}),
    [](const auto& test) { return fmt::format("{}_{}", test.param.folder, test.param.tensor); });

struct Sizes {
  const char* folder;
  std::vector<const char*> keys;
};

class SizesOfAConfig : public testing::TestWithParam<Sizes> {};

TEST_P(SizesOfAConfig, MustBeWithinTheirRanges) {
  for (const char* key : GetParam().keys)
    for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 40, INT64_MAX, INT64_MIN}) {
      const ChangedFolder folder(kData / GetParam().folder);
      folder.set(key, value);
      const Outcome outcome = run_attend({"verify", folder.path()});
      expect_refused(outcome, "config.json: ");
      expect_refused(outcome, std::to_string(value));
    }
}

INSTANTIATE_TEST_SUITE_P(
    Fixtures, SizesOfAConfig,
    testing::Values(Sizes{"marian",
                          {"vocab_size", "d_model", "encoder_layers", "decoder_layers", "encoder_attention_heads",
                           "encoder_ffn_dim", "max_position_embeddings"}},
                    Sizes{"gpt2", {"vocab_size", "n_positions", "n_embd", "n_layer", "n_head"}},
                    Sizes{"bert_base",
                          {"vocab_size", "max_position_embeddings", "type_vocab_size", "hidden_size",
                           "num_hidden_layers", "num_attention_heads", "intermediate_size"}},
                    Sizes{"roberta_masked_lm", {"num_hidden_layers", "hidden_size"}},
                    Sizes{"distilbert_classify", {"dim", "n_layers", "n_heads", "hidden_dim"}}),
    [](const auto& test) { return std::string(test.param.folder); });

TEST(HostileFolder, LayersOfATranslatorAreNeverNone) {
  for (const char* key : {"encoder_layers", "decoder_layers", "heads", "width", "hidden", "vocabulary", "max_length"})
    for (const std::int64_t value : {0, -1}) {
      const ModelFolder original;
      const ChangedFolder folder(original.path());
      folder.set(key, value);
      expect_refused(run_attend({"translate", "--model", folder.path()}, "the house\n"), "config.json: ");
    }
}

// Each value alone is fine; together they would be a table of 4 TB.
TEST(HostileFolder, HugeModelsTakeNoMemory) {
  const ChangedFolder gpt2(kData / "gpt2");
  gpt2.set("n_embd", 65536), gpt2.set("n_head", 8), gpt2.set("vocab_size", 1 << 24);
  expect_refused(run_attend({"verify", gpt2.path()}), "more than the");
  const ChangedFolder bert(kData / "bert_base");
  bert.set("vocab_size", 1 << 24);
  expect_refused(run_attend({"verify", bert.path()}), "more than the");
  const ModelFolder original;
  const ChangedFolder translator(original.path());
  translator.set("hidden", 1 << 20), translator.set("decoder_layers", 100);
  expect_refused(run_attend({"translate", "--model", translator.path()}, "the house\n"), "more than the");
}

// A tokenizer may put any id around a text.
TEST(HostileFolder, SpecialTokensOfTheTokenizerMustBeInTheTable) {
  const ChangedFolder folder(kData / "bert_classify");
  write_file(folder.path() + "/tokenizer.json",
             R"({"model": {"type": "WordPiece", "unk_token": "a", "vocab": {"a": 0}},
                 "post_processor": {"type": "BertProcessing", "sep": ["s", 1000000000], "cls": ["c", 1]}})");
  expect_refused(run_attend({"classify", "--model", folder.path()}, "a\n"), "ids up to 1000000000");
}

TEST(HostileFolder, AnEmptyPromptNeedsAFirstToken) {
  const ChangedFolder folder(kData / "gpt2");
  folder.set("bos_token_id", std::int64_t{1} << 32);
  expect_refused(run_attend({"verify", folder.path()}), "bos_token_id must be -1 to 2147483647, not 4294967296");
}

}  // namespace
}  // namespace attend::test::hostile_folder
