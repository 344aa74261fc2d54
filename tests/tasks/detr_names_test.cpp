// A DETR on a ResNet of 18 layers, with one set of weights under every spelling that files on the hub have: as
// transformers' own ResNet, as timm's, as the modules of transformers 5, inside of a wrapper, in a model for
// segmentation and without a head's prefix. All of them compute the same bits, and nothing in them is left over.
#include "attend/catalogue/detr_names.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/catalogue/catalogue.h"
#include "attend/checkpoint/safetensors_writer.h"
#include "attend/models/detr.h"
#include "attend/models/timm_resnet.h"
#include "attend/tasks/detector.h"
#include "tests/tensor/tensors.h"

namespace attend::test::detr_names {
namespace {

namespace fs = std::filesystem;

Json config_json() {
  return {{"model_type", "detr"},
          {"architectures", Json::array({"DetrForObjectDetection"})},
          {"d_model", 32},
          {"num_queries", 3},
          {"encoder_layers", 1},
          {"encoder_attention_heads", 4},
          {"encoder_ffn_dim", 16},
          {"decoder_layers", 1},
          {"decoder_attention_heads", 4},
          {"decoder_ffn_dim", 16},
          {"id2label", {{"0", "cat"}, {"1", "dog"}}}};
}
Json own_json() {
  Json json = config_json();
  json["use_timm_backbone"] = false;
  json["backbone_config"] = models::resnet_json(*models::timm_resnet("resnet18"));
  return json;
}
Json timm_json() {
  Json json = config_json();
  json["backbone"] = "resnet18", json["use_timm_backbone"] = true;
  return json;
}

using Renaming = std::function<std::string(std::string)>;

std::string replaced(std::string name, const std::string& from, const std::string& to) {
  if (const std::size_t at = name.find(from); at != std::string::npos) name.replace(at, from.size(), to);
  return name;
}

const std::string kBefore = std::string(models::Detr::kBackbone) + ".";

std::string as_timm(const std::string& name) {
  return name.starts_with(kBefore) ? kBefore + models::timm_resnet_name(name.substr(kBefore.size())) : name;
}

// Logits and boxes of a folder's model; all of its tensors are read.
std::vector<float> answers(const fs::path& folder) {
  const catalogue::ModelConfig described = catalogue::read_config(folder);
  models::Detr model(models::detr_config(described.json, described.path));
  nn::Parameters parameters(cpu(), model.parameters(), {.trained = false, .initialized = false});
  const checkpoint::TensorFiles files = checkpoint::TensorFiles::open(folder);
  const checkpoint::LoadReport report =
      checkpoint::load_hugging_face(files, parameters, catalogue::load_options(described, files));
  EXPECT_TRUE(report.missing.empty());
  EXPECT_TRUE(report.unused.empty()) << report.unused.front();
  std::vector<float> pixels;
  for (int i = 0; i < 32 * 40 * 3; ++i) pixels.push_back(std::sin(0.3f * static_cast<float>(i)));
  const std::vector<Extent2> sizes = {{32, 40}};
  Pass pass(cpu());
  const models::DetrOutput output = model.detect(pass.input(tensor_of(cpu(), {1, 32, 40, 3}, pixels)),
                                                 model.places(cpu(), DType::f32, sizes[0], sizes));
  std::vector<float> numbers = download(output.logits);
  const std::vector<float> boxes = download(output.boxes);
  numbers.insert(numbers.end(), boxes.begin(), boxes.end());
  return numbers;
}

class DetrNames : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  // The same weights in every folder, by transformers' names of its own ResNet.
  void write(const Json& config, const Renaming& renaming) const {
    // Never destroyed: the device of the tests may be gone before they would be.
    static models::Detr& model = *new models::Detr(models::detr_config(own_json(), "own"));
    static const nn::Parameters& parameters =
        *new nn::Parameters(cpu(), model.parameters(), {.seed = 5, .trained = false});
    checkpoint::SafetensorsWriter writer;
    std::vector<Tensor> kept;
    for (const nn::Parameters::Entry& entry : parameters.entries())
      for (const checkpoint::FilePart& part : checkpoint::file_parts(entry)) {
        // Of convolutions the order of the numbers does not matter here, as long as it is the same.
        kept.push_back(parameters.value(entry).reshape(part.shape));
        writer.add(renaming(part.name), kept.back());
      }
    const std::vector<std::int64_t> count = {7};
    writer.add("model.backbone.conv_encoder.model.layer1.0.downsample.1.num_batches_tracked", Shape({1}), count);
    writer.write((folder_ / "model.safetensors").string());
    write_file(folder_ / "config.json", config.dump(1));
    write_file(folder_ / "preprocessor_config.json",
               R"({"image_processor_type": "DetrImageProcessor", "size": {"shortest_edge": 40, "longest_edge": 64}})");
  }

  const fs::path folder_ = fs::temp_directory_path() / ("attend_detr_names_" + std::to_string(getpid()));
};

TEST_F(DetrNames, EverySpellingIsTheSameModel) {
  write(own_json(), [](std::string name) { return name; });
  const std::vector<float> want = answers(folder_);
  ASSERT_EQ(want.size(), 3u * (3 + 4));
  const auto modules = [](std::string name) {
    for (const auto& [ours, theirs] : {std::pair{".out_proj.", ".o_proj."},
                                       {".fc1.", ".mlp.fc1."},
                                       {".fc2.", ".mlp.fc2."},
                                       {"backbone.conv_encoder.", "backbone."}})
      name = replaced(std::move(name), ours, theirs);
    return name;
  };
  Json wrapped = config_json(), segmentation = timm_json();
  wrapped["backbone_config"] = {{"model_type", "timm_backbone"}, {"backbone", "resnet18"}};
  segmentation["architectures"] = Json::array({"DetrForSegmentation"});
  const std::tuple<const char*, Json, Renaming> kSpellings[] = {
      {"timm", timm_json(), as_timm},
      {"timm_backbone", wrapped, as_timm},
      {"modules", timm_json(), [&](std::string name) { return modules(as_timm(name)); }},
      {"own modules", own_json(), modules},
      {"wrapper", wrapped, [](std::string name) { return replaced(as_timm(name), kBefore, kBefore + "_backbone."); }},
      {"segmentation", segmentation, [](std::string name) { return "detr." + as_timm(name); }},
      {"no prefix", timm_json(), [](std::string name) { return replaced(as_timm(name), "model.", ""); }}};
  for (const auto& [what, config, renaming] : kSpellings) {
    SCOPED_TRACE(what);
    write(config, renaming);
    EXPECT_EQ(answers(folder_), want);
  }
}

// What was read with timm's names is written with them, in a form that reads back.
TEST_F(DetrNames, SavedFoldersKeepThem) {
  write(timm_json(), as_timm);
  const std::vector<float> want = answers(folder_);
  const catalogue::ModelConfig described = catalogue::read_config(folder_);
  models::Detr model(models::detr_config(described.json, described.path));
  nn::Parameters parameters(cpu(), model.parameters(), {.trained = false, .initialized = false});
  checkpoint::load_hugging_face(checkpoint::TensorFiles::open(folder_), parameters, {.prefix = "model"});
  checkpoint::save_hugging_face(folder_, parameters, models::detr_json(model.config()));
  EXPECT_TRUE(checkpoint::TensorFiles::open(folder_).holding(kBefore + "layer4.1.bn2.running_var"));
  EXPECT_EQ(read_json(folder_ / "config.json")["backbone"], Json("resnet18"));
  EXPECT_EQ(answers(folder_), want);
}

TEST_F(DetrNames, AnotherBackboneIsRefused) {
  Json json = timm_json();
  json["backbone"] = "resnet50";
  write(json, as_timm);
  EXPECT_THROW(tasks::Detector(folder_, cpu()), Error);
  json["backbone"] = "convnext_tiny";
  write(json, as_timm);
  try {
    tasks::Detector(folder_, cpu());
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'convnext_tiny' is not known; known are timm's resnet18"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace attend::test::detr_names
