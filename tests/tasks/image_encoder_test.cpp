// Image classifiers from their folders: what problem_type makes of logits, images of any size for models that read
// them, and settings that the models here are not.
#include "attend/tasks/image_encoder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;

image::Image striped(int width, int height) {
  image::Image image(width, height);
  for (std::size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<std::uint8_t>(i * 37 % 251);
  return image;
}

class ImageFolder : public testing::Test {
 protected:
  ~ImageFolder() override { fs::remove_all(folder_); }

  // A fixture's model with another config, and images as this processor makes them.
  void write(const std::string& fixture, const Json& changes, const Json& processor) const {
    const fs::path from = "tests/fixtures/data/" + fixture;
    fs::create_directories(folder_);
    fs::copy_file(from / "model.safetensors", folder_ / "model.safetensors", fs::copy_options::overwrite_existing);
    Json config = read_json(from / "config.json");
    config.update(changes);
    write_file(folder_ / "config.json", config.dump(1));
    write_file(folder_ / "preprocessor_config.json", processor.dump(1));
  }
  tasks::ImageEncoder encoder() const { return {folder_, catalogue::Task::classify_images, cpu()}; }
  std::string message() const {
    try {
      const tasks::ImageEncoder opened = encoder();
      opened.classify(std::vector{opened.prepare(striped(50, 70))}, 0);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  const fs::path folder_ = fs::temp_directory_path() / ("attend_image_folder_" + std::to_string(getpid()));
};

Json processor(const char* type, const Json& size) {
  return {{"image_processor_type", std::string(type) + "ImageProcessor"}, {"size", size}};
}

TEST_F(ImageFolder, ScoresFollowTheProblem) {
  const std::pair<const char*, Json> kModels[] = {{"resnet", processor("ConvNext", {{"shortest_edge", 64}})},
                                                  {"vit", processor("ViT", 32)},
                                                  {"swin", processor("ViT", 64)}};
  for (const auto& [fixture, prepared] : kModels) {
    SCOPED_TRACE(fixture);
    const auto scores = [&, fixture = fixture, prepared = prepared](const Json& changes) {
      write(fixture, changes, prepared);
      const tasks::ImageEncoder model = encoder();
      return model.classify(std::vector{model.prepare(striped(80, 90))}, 0)[0];
    };
    const tasks::Classified logits = scores({{"problem_type", "regression"}}),
                            one = scores({{"problem_type", nullptr}}),
                            many = scores({{"problem_type", "multi_label_classification"}});
    ASSERT_EQ(logits.labels.size(), 5u);
    double sum = 0;
    for (const tasks::ClassLabel& label : logits.labels) sum += std::exp(static_cast<double>(label.probability));
    for (std::size_t i = 0; i < 5; ++i) {
      const double logit = logits.labels[i].probability;
      EXPECT_EQ(one.labels[i].label, logits.labels[i].label);
      EXPECT_EQ(many.labels[i].label, logits.labels[i].label);
      EXPECT_NEAR(one.labels[i].probability, std::exp(logit) / sum, 1e-6);
      EXPECT_NEAR(many.labels[i].probability, 1 / (1 + std::exp(-logit)), 1e-6);
    }
    write(fixture, {{"problem_type", "multi_label_classification"}}, prepared);
    EXPECT_EQ(encoder().model().config()["problem_type"], Json("multi_label_classification"));
    write(fixture, {{"problem_type", "ranking"}}, prepared);
    EXPECT_NE(message().find("'problem_type' is \"ranking\""), std::string::npos) << message();
  }
}

// Of other sizes than 224, not square, and of several at once.
TEST_F(ImageFolder, ResNetsReadImagesOfAnySize) {
  write("resnet", Json::object(), processor("Bit", {{"shortest_edge", 48}}));
  Json changed = read_json(folder_ / "preprocessor_config.json");
  changed["do_center_crop"] = false;
  write_file(folder_ / "preprocessor_config.json", changed.dump());
  const tasks::ImageEncoder model = encoder();
  EXPECT_TRUE(model.model().any_size());
  std::vector<image::Image> images;
  for (const auto& [width, height] : {std::pair{60, 40}, {40, 60}, {60, 40}})
    images.push_back(model.prepare(striped(width, height)));
  EXPECT_EQ(images[0].width, 72);
  const std::vector<tasks::Classified> together = model.classify(images, 0);
  const std::vector<std::vector<float>> features = model.features(images);
  for (std::size_t i = 0; i < images.size(); ++i) {
    const std::vector one = {images[i]};
    EXPECT_EQ(features[i].size(), 32u);
    EXPECT_EQ(together[i].labels[0].label, model.classify(one, 1)[0].labels[0].label);
    EXPECT_NEAR(together[i].labels[0].probability, model.classify(one, 1)[0].labels[0].probability, 1e-6);
  }
  EXPECT_EQ(features[0], features[2]);
}

TEST_F(ImageFolder, ModelsWithoutATableOfPositionsAreMadeForTheFoldersSize) {
  write("resnet", Json::object(), processor("ConvNext", {{"shortest_edge", 96}}));
  EXPECT_EQ(encoder().model().size().h, 96);
  EXPECT_EQ(message(), "no error");
  write("swin", Json::object(), processor("ViT", 96));
  EXPECT_EQ(encoder().model().size().h, 96);
  EXPECT_EQ(message(), "no error");
  write("vit", Json::object(), processor("ViT", 48));
  EXPECT_NE(message().find("makes images of 48 x 48, but the model reads 32 x 32"), std::string::npos) << message();
}

TEST_F(ImageFolder, SettingsOfOtherModelsAreRefusedByName) {
  const Json size = processor("ViT", 32);
  for (const auto& [key, value] : {std::pair<const char*, Json>{"layerscale_value", 1.0},
                                   {"num_register_tokens", 4},
                                   {"use_swiglu_ffn", true},
                                   {"qkv_bias", false}}) {
    write("vit", {{key, value}}, size);
    EXPECT_NE(message().find("'" + std::string(key) + "' is "), std::string::npos) << message();
  }
  write("vit", {{"num_register_tokens", 0}, {"use_swiglu_ffn", false}, {"layerscale_value", nullptr}}, size);
  EXPECT_EQ(message(), "no error");
}

}  // namespace
}  // namespace attend::test
