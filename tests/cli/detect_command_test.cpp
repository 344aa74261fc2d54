// attend detect: the model's boxes in the image's own pixels, COCO's results, images, and a message for what cannot
// be. The fixture's pixels are numbers that no image has, and rounding them to bytes moves its boxes by a pixel or
// two; so what the command finds is held against models::Detr on the rounded pixels, which attend verify holds against
// transformers on the exact ones (tests/verify).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/checkpoint/safetensors.h"
#include "attend/image/decode.h"
#include "attend/image/encode.h"
#include "attend/models/detr.h"
#include "attend/nn/parameters.h"
#include "tests/cli/run_attend.h"
#include "tests/tasks/changed_folder.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;

constexpr int kWidth = 96, kHeight = 64, kQueries = 7, kClasses = 5;
// The fixture's pixels are numbers from -5 to 5, of which an image has 256.
constexpr double kRange = 10;

class DetectCommandTest : public testing::Test {
 protected:
  DetectCommandTest()
      : model_("tests/fixtures/data/detr"),
        expected_(checkpoint::Safetensors::open("tests/fixtures/data/detr/expected.safetensors")),
        folder_(model_.path() + "-images") {
    compute_answers();
    preprocessor({{"do_resize", false}});
    write_file(folder_ / "a.png", image::encode_png(image(1)));
  }
  ~DetectCommandTest() override { fs::remove_all(folder_); }

  void preprocessor(const Json& more) const {
    Json json = {{"image_processor_type", "DetrImageProcessor"},
                 {"image_mean", {0.5, 0.5, 0.5}},
                 {"image_std", {1 / kRange, 1 / kRange, 1 / kRange}}};
    json.update(more);
    write_file(fs::path(model_.path()) / "preprocessor_config.json", json.dump());
  }

  // The fixture's first image, each pixel so many times both ways.
  image::Image image(int times) const {
    const std::vector<float> values = expected_.floats("pixel_values");
    image::Image result(kWidth * times, kHeight * times);
    for (int y = 0; y < result.height; ++y)
      for (int x = 0; x < result.width; ++x)
        for (int c = 0; c < 3; ++c) {
          const auto at = static_cast<std::size_t>((c * kHeight + y / times) * kWidth + x / times);
          const double value = static_cast<double>(values[at]) / kRange + 0.5;
          result.row(y)[3 * x + c] = static_cast<std::uint8_t>(std::lround(std::clamp(value, 0.0, 1.0) * 255));
        }
    return result;
  }

  void compute_answers() {
    models::Detr model(models::detr_config(read_json(model_.path() + "/config.json"), "config.json"));
    nn::Parameters parameters(cpu(), model.parameters(), {});
    checkpoint::load_hugging_face(checkpoint::TensorFiles::open(model_.path()), parameters, {.prefix = "model"});
    const image::Image rounded = image(1);
    std::vector<float> values;
    for (const std::uint8_t pixel : rounded.pixels)
      values.push_back(static_cast<float>((pixel / 255.0 - 0.5) * kRange));
    const Tensor pixels = tensor_of(cpu(), {1, kHeight, kWidth, 3}, values);
    const std::vector<Extent2> sizes = {{kHeight, kWidth}};
    Pass pass(cpu());
    const models::DetrOutput output =
        model.detect(pass.input(pixels), model.places(cpu(), DType::f32, sizes[0], sizes));
    logits_ = download(output.logits), boxes_ = download(output.boxes);
  }

  Outcome detect(std::vector<std::string> more) const {
    std::vector<std::string> words = {"detect", "--model", model_.path()};
    words.insert(words.end(), more.begin(), more.end());
    return run_attend(words);
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  // Every query's box and score is in the results, in pixels of an image that is `times` as large.
  void expect_answers(const Json& results, std::int64_t image, double times) const {
    std::vector<std::vector<double>> wanted, found;
    for (std::size_t q = 0; q < kQueries; ++q) {
      const double w = kWidth * times, h = kHeight * times;
      const auto box = [&](std::size_t i) { return static_cast<double>(boxes_[4 * q + i]); };
      std::vector<double> shares;
      double sum = 0;
      for (std::size_t c = 0; c < kClasses; ++c)
        shares.push_back(std::exp(static_cast<double>(logits_[kClasses * q + c]))), sum += shares.back();
      const auto best = std::max_element(shares.begin(), shares.end() - 1);
      wanted.push_back({static_cast<double>(best - shares.begin()), *best / sum, (box(0) - box(2) / 2) * w,
                        (box(1) - box(3) / 2) * h, box(2) * w, box(3) * h});
    }
    for (const Json& result : results)
      if (result.at("image_id").get<std::int64_t>() == image) {
        found.push_back({result.at("category_id").get<double>(), result.at("score").get<double>()});
        for (const Json& number : result.at("bbox")) found.back().push_back(number.get<double>());
      }
    ASSERT_EQ(found.size(), wanted.size());
    std::ranges::sort(wanted, std::greater<>(), [](const auto& row) { return row[1]; });
    for (std::size_t q = 0; q < wanted.size(); ++q) {
      EXPECT_EQ(found[q][0], wanted[q][0]) << q;
      EXPECT_NEAR(found[q][1], wanted[q][1], 1e-4) << q;
      for (std::size_t i = 2; i < 6; ++i) EXPECT_NEAR(found[q][i], wanted[q][i], 0.02 * times) << q << " " << i;
    }
  }

  const ChangedFolder model_;
  const checkpoint::Safetensors expected_;
  const fs::path folder_;
  std::vector<float> logits_, boxes_;
};

TEST_F(DetectCommandTest, BoxesAreThoseOfTheModel) {
  write_file(folder_ / "b.png", image::encode_png(image::Image(64, 64)));
  const Outcome result = detect({folder_.string(), "--threshold", "0", "--json", path("found.json")});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(std::ranges::count(result.out, '\n'), 2 * kQueries);
  EXPECT_EQ(result.out.find(path("a.png") + "\tLABEL_"), 0u) << result.out;
  expect_answers(read_json(path("found.json")), 1, 1);
}

TEST_F(DetectCommandTest, BoxesAreInTheImagesOwnPixels) {
  preprocessor({{"size", {{"shortest_edge", kHeight}, {"longest_edge", kWidth}}}, {"resample", 0}});
  write_file(folder_ / "a.png", image::encode_png(image(3)));
  const Outcome result = detect({path("a.png"), "--threshold", "0", "--json", path("found.json")});
  ASSERT_EQ(result.code, 0) << result.err;
  expect_answers(read_json(path("found.json")), 1, 3);
}

TEST_F(DetectCommandTest, NumbersOfImagesAndCategoriesAreThoseOfTheGroundTruth) {
  Json categories = Json::array();
  for (int i = 3; i >= 0; --i) categories.push_back({{"id", 10 + i}, {"name", "LABEL_" + std::to_string(i)}});
  const Json truth = {
      {"images", Json::array({{{"id", 77}, {"file_name", "a.png"}, {"width", kWidth}, {"height", kHeight}}})},
      {"categories", categories},
      {"annotations", Json::array()}};
  write_file(folder_ / "truth.json", truth.dump());
  const std::vector<std::string> words = {"--threshold",      "0",        "--json",
                                          path("found.json"), "--images", path("truth.json")};
  std::vector<std::string> known = words, unknown = words;
  known.push_back(path("a.png"));
  const Outcome result = detect(known);
  ASSERT_EQ(result.code, 0) << result.err;
  Json results = read_json(path("found.json"));
  for (Json& one : results) one["category_id"] = one.at("category_id").get<int>() - 10;
  expect_answers(results, 77, 1);
  const Outcome scored = run_attend({"score", "--metric", "coco", "--ground-truth", path("truth.json"), "--predictions",
                                     path("found.json"), "--json"});
  EXPECT_EQ(scored.code, 0) << scored.err;
  write_file(folder_ / "other.png", image::encode_png(image::Image(32, 32)));
  unknown.push_back(path("other.png"));
  const Outcome wrong = detect(unknown);
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(wrong.err.find("other.png"), std::string::npos) << wrong.err;
}

TEST_F(DetectCommandTest, ImagesAreDrawn) {
  write_file(folder_ / "b.png", image::encode_png(image::Image(64, 48)));
  const Outcome result = detect({path("a.png"), path("b.png"), "--threshold", "0", "--png", path("out/found.png"),
                                 "--svg", path("out/found.svg"), "--show"});
  ASSERT_EQ(result.code, 0) << result.err;
  const image::Image drawn = image::read_image(path("out/found.png"));
  EXPECT_GE(drawn.width, 2 * kWidth);
  EXPECT_TRUE(fs::exists(path("out/found-2.png")));
  const std::string svg = read_file(path("out/found.svg"));
  EXPECT_NE(svg.find("LABEL_"), std::string::npos);
  EXPECT_NE(svg.find("data:image/png;base64,"), std::string::npos);
}

// Images of one name are told apart by their folders; what is unknown is said before anything is computed.
TEST_F(DetectCommandTest, ImagesOfOneNameAreToldApart) {
  Json images = Json::array();
  for (const char* file : {"one/a.png", "two/a.png"})
    images.push_back({{"id", images.size() + 5}, {"file_name", file}, {"width", kWidth}, {"height", kHeight}});
  const Json truth = {{"images", images},
                      {"categories", Json::array({{{"id", 1}, {"name", "LABEL_0"}}})},
                      {"annotations", Json::array()}};
  write_file(folder_ / "truth.json", truth.dump());
  write_file(folder_ / "two" / "a.png", image::encode_png(image(1)));
  const auto found = [&](const std::vector<std::string>& files) {
    std::vector<std::string> words = {"--threshold", "0", "--json", path("found.json"), "--images", path("truth.json")};
    words.insert(words.end(), files.begin(), files.end());
    return detect(words);
  };
  ASSERT_EQ(found({path("two/a.png")}).code, 0);
  for (const Json& one : read_json(path("found.json"))) EXPECT_EQ(one.at("image_id").get<int>(), 6);
  fs::remove(path("found.json"));
  const Outcome ambiguous = found({path("a.png")});
  EXPECT_EQ(ambiguous.code, 1);
  EXPECT_NE(ambiguous.err.find("2 images called 'a.png'"), std::string::npos) << ambiguous.err;
  write_file(folder_ / "b.png", image::encode_png(image(1)));
  const Outcome unknown = found({path("two/a.png"), path("b.png")});
  EXPECT_EQ(unknown.code, 1);
  EXPECT_EQ(unknown.out, "");
  EXPECT_FALSE(fs::exists(path("found.json")));
}

// Neither the figure nor the results go over an image.
TEST_F(DetectCommandTest, ImagesAreNotWrittenOver) {
  const std::string before = read_file(path("a.png"));
  EXPECT_EQ(detect({path("a.png"), "--png", path("a.png")}).code, 1);
  EXPECT_EQ(detect({path("a.png"), "--json", path("a.png")}).code, 1);
  EXPECT_EQ(read_file(path("a.png")), before);
  const Outcome printed = detect({path("a.png"), "--threshold", "0", "--json", "-"});
  ASSERT_EQ(printed.code, 0) << printed.err;
  expect_answers(parse_json(printed.out, "printed"), 1, 1);
}

// Where each query looks stands under its label, in the terminal and on the page.
TEST_F(DetectCommandTest, AttentionIsDrawn) {
  const Outcome plain = detect({path("a.png"), "--threshold", "0", "--show", "--png", path("plain.png")});
  const Outcome shown = detect(
      {path("a.png"), "--threshold", "0", "--show-attention", "--png", path("seen.png"), "--svg", path("seen.svg")});
  ASSERT_EQ(shown.code, 0) << shown.err;
  EXPECT_GT(shown.out.size(), plain.out.size());
  EXPECT_GT(image::read_image(path("seen.png")).height, image::read_image(path("plain.png")).height);
  const std::string svg = read_file(path("seen.svg"));
  std::size_t images = 0;
  for (std::size_t at = svg.find("<image"); at != std::string::npos; at = svg.find("<image", at + 1)) ++images;
  EXPECT_EQ(images, 1u + kQueries);
  EXPECT_NE(svg.find("where each query looks"), std::string::npos);
}

TEST_F(DetectCommandTest, WhatCannotBeIsSaid) {
  const auto expect_error = [](const Outcome& result, const std::string& part) {
    EXPECT_EQ(result.code, 1);
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
  };
  expect_error(detect({}), "no image was given");
  expect_error(detect({path("a.png"), "--images", path("none.json")}), "--images is for");
  expect_error(detect({path("a.png"), "--threshold", "2"}), "threshold");
  write_file(folder_ / "broken.png", "not an image");
  const Outcome broken = detect({path("broken.png"), path("a.png"), "--threshold", "0", "--json", path("found.json")});
  expect_error(broken, "1 of 2 images could not be read");
  expect_answers(read_json(path("found.json")), 2, 1);
  expect_error(run_attend({"detect", "--model", "tests/fixtures/data/resnet", path("a.png")}), "attend classify");
}

}  // namespace
}  // namespace attend::test
