// The modules of sentence-transformers behind an encoder. Expected numbers are worked out by hand from the states.
#include "attend/tasks/sentence_modules.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <sstream>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/checkpoint/safetensors_writer.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;
using tasks::Pooling;
using tasks::SentenceModules;

const std::vector<float> kStates = {1, 4, 3, -2, 5, 1};  // [3, 2]

class Sentences : public testing::Test {
 protected:
  Sentences() : folder_(fs::temp_directory_path() / ("attend_sentences_" + std::to_string(getpid()))) {
    fs::create_directories(folder_ / "1_Pooling");
    fs::create_directories(folder_ / "2_Dense");
  }
  ~Sentences() override { fs::remove_all(folder_); }

  void write(const fs::path& name, const Json& json) const { write_file(folder_ / name, json.dump()); }
  void write_modules(const std::vector<std::pair<std::string, std::string>>& modules) const {
    Json list = Json::array();
    for (const auto& [type, path] : modules)
      list.push_back({{"idx", list.size()}, {"path", path}, {"type", "sentence_transformers.models." + type}});
    write("modules.json", list);
  }
  void write_dense(const char* activation) const {
    write("2_Dense/config.json", {{"in_features", 2},
                                  {"out_features", 1},
                                  {"bias", true},
                                  {"activation_function", std::string("torch.nn.modules.activation.") + activation}});
    const auto tensor = [](const Shape& shape, const std::vector<float>& values) {
      const Tensor made = make_tensor(cpu(), shape, DType::f32);
      upload(made, values);
      return made;
    };
    checkpoint::SafetensorsWriter writer;
    writer.add("linear.weight", tensor({1, 2}, {0.5f, -1}));
    writer.add("linear.bias", tensor({1}, {0.25f}));
    writer.write((folder_ / "2_Dense/model.safetensors").string());
  }
  std::string refusal() const {
    try {
      SentenceModules(folder_, 2);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
  fs::path folder_;
};

TEST_F(Sentences, EveryPooling) {
  const auto pooled = [](Pooling how) { return tasks::pooled(kStates, 2, how); };
  EXPECT_EQ(pooled(Pooling::mean), (std::vector<float>{3, 1}));
  EXPECT_EQ(pooled(Pooling::cls), (std::vector<float>{1, 4}));
  EXPECT_EQ(pooled(Pooling::max), (std::vector<float>{5, 4}));
  EXPECT_EQ(pooled(Pooling::last_token), (std::vector<float>{5, 1}));
  EXPECT_FLOAT_EQ(pooled(Pooling::mean_sqrt_len)[0], static_cast<float>(9 / std::sqrt(3.0)));
  EXPECT_FLOAT_EQ(pooled(Pooling::weighted_mean)[0], (1 * 1 + 2 * 3 + 3 * 5) / 6.0f);
  EXPECT_FLOAT_EQ(pooled(Pooling::weighted_mean)[1], (1 * 4 - 2 * 2 + 3 * 1) / 6.0f);
}

TEST_F(Sentences, WithoutModulesItIsTheMean) {
  const SentenceModules modules(folder_, 2);
  EXPECT_FALSE(modules.found());
  EXPECT_EQ(modules(kStates), (std::vector<float>{3, 1}));
  EXPECT_EQ(modules.description(), "mean pooling");
}

TEST_F(Sentences, ModulesAreAppliedInTheirOrder) {
  write_modules({{"Transformer", ""}, {"Pooling", "1_Pooling"}, {"Dense", "2_Dense"}, {"Normalize", "3_Normalize"}});
  write("1_Pooling/config.json", {{"word_embedding_dimension", 2}, {"pooling_mode_cls_token", true}});
  write_dense("Tanh");
  write("sentence_bert_config.json", {{"max_seq_length", 7}, {"do_lower_case", true}});
  const SentenceModules modules(folder_, 2);
  EXPECT_EQ(modules.width(), 1);
  EXPECT_EQ(modules.longest(), 7);
  EXPECT_EQ(modules.description(), "cls pooling, dense 2 to 1 (tanh), normalized");
  EXPECT_FLOAT_EQ(modules(kStates)[0], -1);
  EXPECT_FLOAT_EQ(modules(kStates, {.normalize = false})[0], std::tanh(0.5f * 1 - 4 + 0.25f));
  EXPECT_FLOAT_EQ(modules(kStates, {.pooling = Pooling::mean, .normalize = false})[0], std::tanh(0.5f * 3 - 1 + 0.25f));
  EXPECT_EQ(modules.prepared("Z\xC3\x9CRICH", "Query: "), "query: z\xC3\xBCrich");
}

TEST_F(Sentences, SeveralPoolingsAreConcatenated) {
  write_modules({{"Transformer", ""}, {"Pooling", "1_Pooling"}});
  write("1_Pooling/config.json", {{"pooling_mode_mean_tokens", true}, {"pooling_mode_cls_token", true}});
  const SentenceModules modules(folder_, 2);
  EXPECT_EQ(modules.width(), 4);
  EXPECT_EQ(modules(kStates), (std::vector<float>{1, 4, 3, 1}));
  write("1_Pooling/config.json", {{"pooling_mode", "lasttoken"}});
  EXPECT_EQ(SentenceModules(folder_, 2)(kStates), (std::vector<float>{5, 1}));
}

TEST_F(Sentences, Prompts) {
  write_modules({{"Transformer", ""}, {"Pooling", "1_Pooling"}});
  write("1_Pooling/config.json", {{"pooling_mode_mean_tokens", true}, {"include_prompt", false}});
  write("config_sentence_transformers.json",
        {{"prompts", {{"query", "query: "}, {"passage", "passage: "}}}, {"default_prompt_name", "passage"}});
  const SentenceModules modules(folder_, 2);
  EXPECT_EQ(modules.prompt({}), "passage: ");
  EXPECT_EQ(modules.prompt("query"), "query: ");
  EXPECT_THROW(modules.prompt("other"), Error);
  EXPECT_EQ(modules(kStates, {}, 1), (std::vector<float>{4, -0.5f}));  // without the prompt's one token
}

TEST_F(Sentences, WhatCannotBeFollowedIsRefused) {
  write_modules({{"Transformer", ""}, {"Pooling", "1_Pooling"}, {"LSTM", "2_LSTM"}});
  write("1_Pooling/config.json", {{"pooling_mode_mean_tokens", true}});
  EXPECT_NE(refusal().find("a module 'LSTM' is not known"), std::string::npos) << refusal();
  write_modules({{"Transformer", ""}, {"Pooling", "../1_Pooling"}});
  EXPECT_NE(refusal().find("is not the name of a folder"), std::string::npos) << refusal();
  write_modules({{"Transformer", ""}});
  EXPECT_NE(refusal().find("has no Pooling"), std::string::npos) << refusal();
  write_modules({{"Transformer", ""}, {"Pooling", "1_Pooling"}});
  write("1_Pooling/config.json", {{"pooling_mode_mean_tokens", "yes"}});
  EXPECT_NE(refusal().find("must be true or false"), std::string::npos) << refusal();
  write("1_Pooling/config.json", Json::object());
  EXPECT_NE(refusal().find("names no way of pooling"), std::string::npos) << refusal();
  write("1_Pooling/config.json", {{"pooling_mode_mean_tokens", true}});
  write_modules({{"Transformer", ""}, {"Pooling", "1_Pooling"}, {"Dense", "2_Dense"}});
  write_dense("Softsign");
  EXPECT_NE(refusal().find("'Softsign' is not known"), std::string::npos) << refusal();
  write("2_Dense/config.json", {{"in_features", 3}, {"out_features", 1}});
  EXPECT_NE(refusal().find("'in_features' is 3"), std::string::npos) << refusal();
}

}  // namespace
}  // namespace attend::test
