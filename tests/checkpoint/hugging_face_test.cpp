// Folders of Hugging Face's transformers: shards, names with and without a prefix, parameters that are several tensors.
#include "attend/checkpoint/hugging_face.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "attend/backends.h"
#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/checkpoint/safetensors_writer.h"
#include "attend/nn/layers.h"

namespace attend {
namespace {

struct Body {
  nn::Parameter qkv{{6, 1}, {}};
  nn::LayerNorm norm{2};
  template <class Visitor>
  void visit(Visitor&& v) {
    v("self.query|key|value.weight", qkv), v("LayerNorm", norm);
  }
};

struct Model {
  Body body;
  nn::Linear head{2, 1};
  template <class Visitor>
  void visit(Visitor&& v) {
    v("bert", body), v("classifier", head);
  }
};

class HuggingFace : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  struct Stored {
    std::string name;
    Shape shape;
    std::vector<float> values;
  };
  void write(const std::string& file, const std::vector<Stored>& tensors) const {
    checkpoint::SafetensorsWriter writer;
    for (const Stored& tensor : tensors) writer.add(tensor.name, tensor.shape, tensor.values);
    writer.write((folder_ / file).string());
  }
  checkpoint::LoadReport load(bool new_head = false) {
    return checkpoint::load_hugging_face(checkpoint::TensorFiles::open(folder_), parameters_,
                                         {.prefix = "bert", .new_head = new_head});
  }
  std::vector<float> value(const std::string& name) const {
    for (const auto& entry : parameters_.entries())
      if (entry.name == name) return parameters_.read(entry);
    return {};
  }
  // The message of the Error that loading ends in.
  std::string trouble() {
    try {
      load();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  const std::vector<Stored> attention_ = {{"bert.self.query.weight", {2, 1}, {1, 2}},
                                          {"bert.self.key.weight", {2, 1}, {3, 4}}},
                            rest_ = {{"bert.self.value.weight", {2, 1}, {5, 6}},
                                     {"bert.LayerNorm.gamma", {2}, {7, 8}},
                                     {"bert.LayerNorm.beta", {2}, {9, 10}}},
                            head_ = {{"classifier.weight", {1, 2}, {11, 12}}, {"classifier.bias", {1}, {13}}};
  const std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / "attend_hugging_face_test";
  std::unique_ptr<Backend> backend_ = open_backend("cpu");
  Model model_;
  nn::Parameters parameters_{*backend_, model_};
};

TEST_F(HuggingFace, ShardsAndNormsOfOldFiles) {
  write("one.safetensors", attention_);
  std::vector<Stored> second = rest_;
  second.insert(second.end(), head_.begin(), head_.end());
  write("two.safetensors", second);
  write_file(folder_ / "model.safetensors.index.json",
             R"({"metadata": {}, "weight_map": {"bert.self.query.weight": "one.safetensors",
                 "bert.self.key.weight": "one.safetensors", "classifier.bias": "two.safetensors"}})");
  const checkpoint::LoadReport report = load();
  EXPECT_TRUE(report.missing.empty() && report.unused.empty());
  EXPECT_EQ(value("bert.self.query|key|value.weight"), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(value("bert.LayerNorm.weight"), (std::vector<float>{7, 8}));
  EXPECT_EQ(value("bert.LayerNorm.bias"), (std::vector<float>{9, 10}));
  EXPECT_EQ(value("classifier.bias"), std::vector<float>{13});
}

TEST_F(HuggingFace, BareFileUnderANewHead) {
  std::vector<Stored> bare = attention_;
  bare.insert(bare.end(), rest_.begin(), rest_.end());
  for (Stored& tensor : bare) tensor.name = tensor.name.substr(5);
  bare.push_back({"embeddings.position_ids", {1}, {0}});
  bare.push_back({"cls.other", {1}, {0}});
  write("model.safetensors", bare);
  const std::vector<float> before = value("classifier.weight");
  const checkpoint::LoadReport report = load(true);
  EXPECT_EQ(report.missing, (std::vector<std::string>{"classifier.weight", "classifier.bias"}));
  EXPECT_EQ(report.unused, std::vector<std::string>{"cls.other"});
  EXPECT_EQ(value("bert.self.query|key|value.weight"), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(value("classifier.weight"), before);
  EXPECT_NE(trouble().find("classifier.weight"), std::string::npos);
}

TEST_F(HuggingFace, WhatIsSavedLoads) {
  for (const auto& entry : parameters_.entries()) {
    std::vector<float> values(static_cast<std::size_t>(entry.parameter->shape.size()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(entry.name.size() + i);
    parameters_.write(entry, values);
  }
  const std::vector<float> saved = download(parameters_.value());
  checkpoint::save_hugging_face(folder_, parameters_, {{"model_type", "bert"}});
  backend_->fill(parameters_.value(), 0);
  const checkpoint::LoadReport report = load();
  EXPECT_TRUE(report.missing.empty() && report.unused.empty());
  EXPECT_EQ(download(parameters_.value()), saved);
  EXPECT_NE(read_file(folder_ / "config.json").find("\"dtype\": \"float32\""), std::string::npos);
}

TEST_F(HuggingFace, MessagesNameTheTrouble) {
  EXPECT_NE(trouble().find("model.safetensors"), std::string::npos);
  write("model.safetensors", attention_);
  EXPECT_NE(trouble().find("bert.self.value.weight"), std::string::npos);
  std::vector<Stored> wrong = attention_;
  wrong[0] = {"bert.self.query.weight", {1, 2}, {1, 2}};
  write("model.safetensors", wrong);
  EXPECT_NE(trouble().find("[1, 2]"), std::string::npos);
}

TEST_F(HuggingFace, ShardsLieBesideTheIndex) {
  for (const char* index : {R"({"weight_map": {"a": "../one.safetensors"}})", R"({"weight_map": {"a": ".."}})",
                            R"({"weight_map": {"a": "/etc/passwd"}})", R"({"weight_map": {}})",
                            R"({"weight_map": [1]})", R"({"weight_map": {"a": 1}})", R"([])", R"({})", "{"}) {
    write_file(folder_ / "model.safetensors.index.json", index);
    EXPECT_NE(trouble().find("index.json"), std::string::npos) << index << ": " << trouble();
  }
}

}  // namespace
}  // namespace attend
