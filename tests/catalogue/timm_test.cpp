// Folders as timm writes them, made here from the reference models of transformers by giving their tensors timm's
// names: they are recognised, nothing in them is left over, and the logits are those of the reference.
#include "attend/catalogue/timm.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/catalogue/catalogue.h"
#include "attend/catalogue/imagenet_labels.h"
#include "attend/checkpoint/safetensors.h"
#include "attend/checkpoint/safetensors_writer.h"
#include "attend/image/preprocessor_config.h"
#include "attend/ops/layout.h"
#include "tests/tensor/tensors.h"

namespace attend::test::timm_folders {
namespace {

namespace fs = std::filesystem;

const std::string kData = "tests/fixtures/data/";

struct Numbers {
  Shape shape;
  std::vector<float> values;
};
using Tensors = std::map<std::string, Numbers>;

Tensors read(const std::string& fixture) {
  const checkpoint::Safetensors file = checkpoint::Safetensors::open(kData + fixture + "/model.safetensors");
  Tensors tensors;
  for (const checkpoint::StoredTensor& tensor : file.tensors())
    if (is_float(tensor.type)) tensors[tensor.name] = {tensor.shape, file.floats(tensor.name)};
  return tensors;
}

// query, key and value of a layer as one tensor, one below the other.
Numbers fused(const Tensors& tensors, const std::string& before, const std::string& behind) {
  Numbers all = tensors.at(before + "query" + behind);
  for (const char* part : {"key", "value"}) {
    const Numbers& next = tensors.at(before + part + behind);
    all.values.insert(all.values.end(), next.values.begin(), next.values.end());
  }
  all.shape.set(0, 3 * all.shape[0]);
  return all;
}

void add_layer(Tensors& to, const Tensors& from, const std::string& layer, const std::string& attention,
               const std::string& name) {
  for (const char* kind : {".weight", ".bias"}) {
    const auto copy = [&](const char* ours, const char* theirs) {
      to[name + theirs + kind] = from.at(layer + ours + kind);
    };
    to[name + ".attn.qkv" + kind] = fused(from, layer + attention, kind);
    copy(".layernorm_before", ".norm1"), copy(".layernorm_after", ".norm2");
    copy(".attention.output.dense", ".attn.proj");
    copy(".intermediate.dense", ".mlp.fc1"), copy(".output.dense", ".mlp.fc2");
  }
}

Tensors vit_of_timm(const std::string& fixture, const std::string& prefix) {
  const Tensors from = read(fixture);
  Tensors to;
  to["cls_token"] = from.at(prefix + ".embeddings.cls_token");
  to["pos_embed"] = from.at(prefix + ".embeddings.position_embeddings");
  for (const char* kind : {".weight", ".bias"}) {
    to[std::string("patch_embed.proj") + kind] = from.at(prefix + ".embeddings.patch_embeddings.projection" + kind);
    to[std::string("norm") + kind] = from.at(prefix + ".layernorm" + kind);
    to[std::string("head") + kind] = from.at(std::string("classifier") + kind);
  }
  for (int i = 0; from.contains(prefix + ".encoder.layer." + std::to_string(i) + ".layernorm_before.bias"); ++i)
    add_layer(to, from, prefix + ".encoder.layer." + std::to_string(i), ".attention.attention.",
              "blocks." + std::to_string(i));
  return to;
}

// merged_in: how much later than the stage that merges its places timm has the merging.
Tensors swin_of_timm(int merged_in, const std::string& head) {
  const Tensors from = read("swin");
  Tensors to;
  for (const char* kind : {".weight", ".bias"}) {
    to[std::string("patch_embed.proj") + kind] =
        from.at(std::string("swin.embeddings.patch_embeddings.projection") + kind);
    to[std::string("patch_embed.norm") + kind] = from.at(std::string("swin.embeddings.norm") + kind);
    to[std::string("norm") + kind] = from.at(std::string("swin.layernorm") + kind);
    to[head + kind] = from.at(std::string("classifier") + kind);
    to["layers." + std::to_string(merged_in) + ".downsample.norm" + kind] =
        from.at(std::string("swin.encoder.layers.0.downsample.norm") + kind);
  }
  to["layers." + std::to_string(merged_in) + ".downsample.reduction.weight"] =
      from.at("swin.encoder.layers.0.downsample.reduction.weight");
  for (const char* layer : {"0.blocks.0", "0.blocks.1", "1.blocks.0", "1.blocks.1"}) {
    const std::string ours = std::string("swin.encoder.layers.") + layer, theirs = std::string("layers.") + layer;
    add_layer(to, from, ours, ".attention.self.", theirs);
    to[theirs + ".attn.relative_position_bias_table"] = from.at(ours + ".attention.self.relative_position_bias_table");
  }
  return to;
}

// Of the fixture's names, "resnet.encoder.stages.1.layers.0.layer.1.convolution.weight" and so on.
Tensors resnet_of_timm() {
  Tensors to;
  for (const auto& [name, tensor] : read("resnet")) {
    std::string theirs = name;
    const auto replace = [&](const std::string& ours, const std::string& other) {
      if (const std::size_t at = theirs.find(ours); at != std::string::npos) theirs.replace(at, ours.size(), other);
    };
    replace("resnet.embedder.embedder.convolution", "conv1"), replace("resnet.embedder.embedder.normalization", "bn1");
    for (int i = 0; i < 4; ++i) {
      const std::string stage = std::to_string(i), next = std::to_string(i + 1);
      replace("resnet.encoder.stages." + stage + ".layers.", "layer" + next + ".");
      replace(".layer." + stage + ".convolution", ".conv" + next),
          replace(".layer." + stage + ".normalization", ".bn" + next);
    }
    replace("shortcut.convolution", "downsample.0"), replace("shortcut.normalization", "downsample.1");
    replace("classifier.1.", "fc.");
    to[theirs] = tensor;
  }
  return to;
}

class TimmFolder : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const Json& config, const Tensors& tensors) {
    checkpoint::SafetensorsWriter writer;
    for (const auto& [name, tensor] : tensors) writer.add(name, tensor.shape, tensor.values);
    writer.write((folder_ / "model.safetensors").string());
    write_file(folder_ / "config.json", config.dump(1));
  }
  catalogue::ModelConfig described() const { return catalogue::read_config(folder_); }

  // Of the images of a reference model.
  void expect_logits_of(const std::string& fixture) {
    const catalogue::ModelConfig config = described();
    const auto model = catalogue::make_image_model(config.json, config.path);
    nn::Parameters parameters(cpu(), model->parameters(), {.initialized = false});
    const checkpoint::TensorFiles files = checkpoint::TensorFiles::open(folder_);
    const checkpoint::LoadReport report =
        checkpoint::load_hugging_face(files, parameters, catalogue::load_options(config, files));
    EXPECT_TRUE(report.missing.empty());
    EXPECT_TRUE(report.unused.empty()) << report.unused.front();
    const checkpoint::Safetensors expected = checkpoint::Safetensors::open(kData + fixture + "/expected.safetensors");
    Tensor pixels = make_tensor(cpu(), expected["pixel_values"].shape, DType::f32);
    expected.load("pixel_values", pixels);
    const std::vector<float> logits = download(model->logits(ops::permute(pixels, {0, 2, 3, 1})));
    const std::vector<float> wanted = expected.floats("logits");
    ASSERT_EQ(logits.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(logits[i], wanted[i], 1e-4) << i;
  }
  std::string message() const {
    try {
      described();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  const fs::path folder_ = fs::temp_directory_path() / ("attend_timm_" + std::to_string(getpid()));
};

TEST_F(TimmFolder, ViT) {
  write({{"architecture", "vit_tiny_patch8_224"},
         {"num_classes", 5},
         {"label_names", {"ant", "bee", "cat", "dog", "eel"}},
         {"pretrained_cfg", {{"input_size", {3, 32, 32}}}}},
        vit_of_timm("vit", "vit"));
  const catalogue::ModelConfig config = described();
  EXPECT_EQ(config.entry->type, "vit");
  EXPECT_EQ(config.task, catalogue::Task::classify_images);
  EXPECT_EQ(catalogue::make_image_model(config.json, "config.json")->labels()[3], "dog");
  expect_logits_of("vit");
}

// The mean of two heads of which one says nothing, and the other twice what it said, is what it said.
TEST_F(TimmFolder, DistilledDeiT) {
  Tensors tensors = vit_of_timm("deit", "deit");
  tensors["dist_token"] = read("deit").at("deit.embeddings.distillation_token");
  for (const char* kind : {".weight", ".bias"}) {
    Numbers &head = tensors.at(std::string("head") + kind), &teacher = tensors[std::string("head_dist") + kind];
    teacher = {head.shape, std::vector<float>(head.values.size())};
    for (float& value : head.values) value *= 2;
  }
  write({{"architecture", "deit_tiny_distilled_patch16_224.fb_in1k"}}, tensors);
  EXPECT_EQ(described().entry->type, "deit");
  expect_logits_of("deit");
}

TEST_F(TimmFolder, Swin) {
  const Json config = {{"architecture", "swin_tiny_patch4_window7_224"},
                       {"pretrained_cfg", {{"input_size", {3, 64, 64}}}}};
  write(config, swin_of_timm(1, "head.fc"));
  EXPECT_EQ(described().entry->type, "swin");
  expect_logits_of("swin");
  // As it was before 2023.
  write(config, swin_of_timm(0, "head"));
  expect_logits_of("swin");
}

TEST_F(TimmFolder, ResNet) {
  const Tensors tensors = resnet_of_timm();
  ASSERT_TRUE(tensors.contains("layer2.1.conv2.weight") && tensors.contains("layer2.0.downsample.1.running_var"));
  for (const char* name : {"resnet18", "resnet34.a1_in1k"}) {
    write({{"architecture", name},
           {"num_classes", 5},
           {"global_pool", "avg"},
           {"pretrained_cfg", {{"input_size", {3, 96, 96}}}}},
          tensors);
    EXPECT_EQ(described().entry->type, "resnet");
    EXPECT_EQ(described().task, catalogue::Task::classify_images);
    expect_logits_of("resnet");
  }
  EXPECT_EQ(catalogue::make_image_model(described().json, "config.json")->size().h, 96);
  // Other networks with names that begin alike, and settings that no tensor shows.
  for (const char* name : {"resnet50d", "resnet50_gn", "resnetv2_50", "resnet", "resnet50x", "wide_resnet50_2"}) {
    write({{"architecture", name}}, tensors);
    EXPECT_NE(message().find("is not known; known are vit_"), std::string::npos) << message();
  }
  write({{"architecture", "resnet18"}, {"global_pool", "catavgmax"}}, tensors);
  EXPECT_NE(message().find("'global_pool' is \"catavgmax\""), std::string::npos) << message();
  write({{"architecture", "resnet18"}, {"model_args", {{"output_stride", 16}}}}, tensors);
  EXPECT_NE(message().find("'model_args' has output_stride: 16"), std::string::npos) << message();
  write({{"architecture", "resnet18"}, {"model_args", {{"num_classes", 5}}}}, tensors);
  EXPECT_EQ(message(), "no error");
}

// transformers' wrapper around a model of timm, as it saves a fine-tuned one.
TEST_F(TimmFolder, InsideOfAWrapper) {
  const auto wrapped = [](const Tensors& tensors) {
    Tensors named;
    for (const auto& [name, tensor] : tensors) named["timm_model." + name] = tensor;
    return named;
  };
  Json config = {{"model_type", "timm_wrapper"},
                 {"architectures", Json::array({"TimmWrapperForImageClassification"})},
                 {"architecture", "resnet18"},
                 {"problem_type", "multi_label_classification"},
                 {"label_names", {"ant", "bee", "cat", "dog", "eel"}},
                 {"pretrained_cfg", {{"input_size", {3, 64, 64}}}}};
  write(config, wrapped(resnet_of_timm()));
  expect_logits_of("resnet");
  const auto model = catalogue::make_image_model(described().json, "config.json");
  EXPECT_EQ(model->problem(), models::ProblemType::multi_label);
  EXPECT_EQ(model->labels()[4], "eel");
  write_file(folder_ / "preprocessor_config.json",
             R"({"image_processor_type": "TimmWrapperImageProcessor", "pretrained_cfg": {"input_size": [3, 64, 64]}})");
  EXPECT_EQ(image::PreprocessorConfig::load(folder_).family, "timm");
  EXPECT_EQ(image::PreprocessorConfig::load(folder_).crop->width, 64);
  config["architecture"] = "swin_tiny_patch4_window7_224";
  write(config, wrapped(swin_of_timm(0, "head")));
  expect_logits_of("swin");
}

// timm's own files have none.
TEST_F(TimmFolder, LabelsOfImageNetHaveNames) {
  Tensors tensors = resnet_of_timm();
  tensors["fc.weight"] = {{1000, 32}, std::vector<float>(32000)},
  tensors["fc.bias"] = {{1000}, std::vector<float>(1000)};
  const auto first = [&](const Json& more) {
    Json config = {{"architecture", "resnet18"}};
    config.update(more);
    write(config, tensors);
    return catalogue::make_image_model(described().json, "config.json")->labels()[0];
  };
  EXPECT_EQ(first({{"pretrained_cfg", {{"tag", "a1_in1k"}}}}), "tench, Tinca tinca");
  EXPECT_EQ(first({{"pretrained_cfg", {{"num_classes", 1000}}}}), "tench, Tinca tinca");
  EXPECT_EQ(first({{"pretrained_cfg", {{"tag", "places"}}}}), "LABEL_0");
  EXPECT_EQ(first(Json::object()), "LABEL_0");
  Json names = Json::array();
  for (int i = 0; i < 1000; ++i) names.push_back("own " + std::to_string(i));
  EXPECT_EQ(first({{"pretrained_cfg", {{"tag", "a1_in1k"}}}, {"label_names", names}}), "own 0");
  EXPECT_EQ(catalogue::imagenet_labels()[999], "toilet tissue, toilet paper, bathroom tissue");
}

// Its names are ours; timm's strides are not the reference's, so that only the shape is compared.
TEST_F(TimmFolder, MViT) {
  write({{"architecture", "mvitv2_tiny.fb_in1k"}, {"model_args", {{"img_size", 64}}}}, read("mvit"));
  const catalogue::ModelConfig config = described();
  EXPECT_EQ(config.entry->type, "mvit");
  EXPECT_EQ(config.task, catalogue::Task::classify_images);
  const Json made = read_json(kData + "mvit/case.json")["config"];
  for (const char* key : {"depths", "embed_dim", "num_heads"}) EXPECT_EQ(config.json[key], made[key]) << key;
  EXPECT_EQ(config.json["image_size"], 64);
  EXPECT_EQ(catalogue::make_image_model(config.json, "config.json")->labels().size(), 5u);
}

TEST_F(TimmFolder, WithoutAHeadItIsForFeatures) {
  Tensors tensors = vit_of_timm("vit", "vit");
  tensors.erase("head.weight"), tensors.erase("head.bias");
  write({{"architecture", "vit_tiny_patch8_224"}, {"num_classes", 0}}, tensors);
  EXPECT_EQ(described().task, catalogue::Task::embed_images);
}

// MViTv2's body has no prefix of its own; its head is told apart by its own name.
TEST_F(TimmFolder, AMissingHeadMayBeNewAndNothingElse) {
  Json config = read_json(kData + "mvit/case.json")["config"];
  config["model_type"] = "mvit";
  Tensors tensors = read("mvit");
  tensors.erase("head.fc.weight"), tensors.erase("head.fc.bias");
  const auto load = [&] {
    write(config, tensors);
    const catalogue::ModelConfig model = described();
    const auto made = catalogue::make_image_model(model.json, model.path);
    nn::Parameters parameters(cpu(), made->parameters(), {});
    const checkpoint::TensorFiles files = checkpoint::TensorFiles::open(folder_);
    checkpoint::HuggingFaceOptions options = catalogue::load_options(model, files);
    options.new_head = true;
    return checkpoint::load_hugging_face(files, parameters, options).missing;
  };
  EXPECT_EQ(load(), (std::vector<std::string>{"head.fc.weight", "head.fc.bias"}));
  tensors.erase("norm.bias");
  EXPECT_THROW(load(), Error);
}

TEST_F(TimmFolder, WhatIsWrongIsNamed) {
  const Tensors tensors = vit_of_timm("vit", "vit");
  for (const char* name : {"convnext_tiny", "vit", "vit_giant_patch14_224", "vit_tiny_patch16_224_gap", "swin_tiny",
                           "mvitv2_small_cls", ""}) {
    write({{"architecture", name}}, tensors);
    EXPECT_NE(message().find("architecture '" + std::string(name) + "' is not known; known are vit_"),
              std::string::npos)
        << message();
  }
  write({{"architecture", 3}}, tensors);
  EXPECT_NE(message().find("'architecture' must be a name, not 3"), std::string::npos) << message();
  write({{"architecture", "swin_tiny_patch4_window7_224"}}, tensors);
  EXPECT_NE(message().find("no tensor 'layers.0.blocks.0.attn"), std::string::npos) << message();
  Tensors scaled = tensors;
  scaled["blocks.0.ls1.gamma"] = {{24}, std::vector<float>(24, 0.1f)};
  write({{"architecture", "vit_tiny_patch8_224"}}, scaled);
  EXPECT_NE(message().find("has 'blocks.0.ls1.gamma' (LayerScale)"), std::string::npos) << message();
  write({{"architecture", "vit_tiny_patch8_224"}, {"model_args", {{"class_token", false}}}}, tensors);
  EXPECT_NE(message().find("'model_args' has class_token: false"), std::string::npos) << message();
  write({{"architecture", "vit_tiny_patch8_224"}, {"global_pool", "avg"}}, tensors);
  EXPECT_NE(message().find("'global_pool' is \"avg\"; of a vit_tiny_patch8_224 only token"), std::string::npos)
      << message();
  Tensors broken = tensors;
  broken["pos_embed"] = {{1, 16, 24}, std::vector<float>(16 * 24)};
  write({{"architecture", "vit_tiny_patch8_224"}}, broken);
  EXPECT_NE(message().find("'pos_embed' is not that of a square image: 15 rows"), std::string::npos) << message();
  broken["pos_embed"] = {{17, 24}, std::vector<float>(17 * 24)};
  write({{"architecture", "vit_tiny_patch8_224"}}, broken);
  EXPECT_NE(message().find("it has 3 dimensions"), std::string::npos) << message();
}

}  // namespace
}  // namespace attend::test::timm_folders
