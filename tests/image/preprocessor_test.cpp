// What models see, against transformers 5.17 (the fixtures, made with its torchvision backend), and what its config
// files of both ages mean.
#include "attend/image/preprocessor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <regex>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/image/decode.h"
#include "attend/image/encode.h"
#include "tests/checkpoint/message_of.h"
#include "tests/cli/run_attend.h"
#include "tests/image/images.h"

namespace attend {
namespace {

namespace fs = std::filesystem;
using image::Filter;
using image::Image;
using image::PixelSize;
using image::PreprocessorConfig;
using Kind = image::SizeRule::Kind;

PreprocessorConfig config_of(const std::string& text, const std::string& model_type = "") {
  return PreprocessorConfig::of_transformers(parse_json(text, "test"), "file.json", model_type);
}

PixelSize resized(const PreprocessorConfig& config, int width, int height) { return config.resize.of({width, height}); }

// "vit48|FILE" is ViT's at 48 x 48; "detr64_100|FILE" is DETR's, its shortest edge 64 and its longest at most 100.
PreprocessorConfig config_of_fixture(const std::string& name) {
  const std::regex vit("vit([0-9]+)"), detr("detr([0-9]+)_([0-9]+)");
  std::smatch sizes;
  if (std::regex_match(name, sizes, vit))
    return config_of(R"({"image_processor_type": "ViTImageProcessor", "size": {"height": )" + sizes[1].str() +
                     R"(, "width": )" + sizes[1].str() + "}}");
  check(std::regex_match(name, sizes, detr), "'{}' is neither ViT's nor DETR's", name);
  return config_of(R"({"image_processor_type": "DetrImageProcessor", "size": {"shortest_edge": )" + sizes[1].str() +
                   R"(, "longest_edge": )" + sizes[2].str() + "}}");
}

TEST(Preprocessor, FixturesAreWhatTransformersMakes) {
  const std::string path = test::kImages + "preprocessed.safetensors";
  if (!fs::exists(path)) GTEST_SKIP() << path << " is not there";
  if (!test::reads(".jpg")) GTEST_SKIP() << "this build reads no JPEG";
  const checkpoint::Safetensors expected = checkpoint::Safetensors::open(path);
  int cases = 0;
  for (const checkpoint::StoredTensor& stored : expected.tensors()) {
    const std::size_t bar = stored.name.find('|');
    ASSERT_NE(bar, std::string::npos) << stored.name;
    const std::string kind = stored.name.substr(0, bar);
    const Image image = image::read_image(test::kImages + stored.name.substr(bar + 1));
    const image::Pixels pixels = image::Preprocessor(config_of_fixture(kind))(image);
    const std::vector<float> want = expected.floats(stored.name);
    ASSERT_EQ(pixels.height, stored.shape[1]) << stored.name;
    ASSERT_EQ(pixels.width, stored.shape[2]) << stored.name;
    float worst = 0;
    for (std::size_t i = 0; i < want.size(); ++i) worst = std::max(worst, std::abs(want[i] - pixels.values[i]));
    EXPECT_LE(worst, 1e-5f) << stored.name;
    EXPECT_EQ(pixels.mask.empty(), kind.starts_with("vit"));
    ++cases;
  }
  EXPECT_TRUE(cases == 8 || (test::fixtures_given() && cases > 0)) << cases;
}

TEST(PreprocessorConfig, DefaultsAreThoseOfTheClass) {
  const PreprocessorConfig vit = config_of(R"({"image_processor_type": "ViTImageProcessorFast"})");
  EXPECT_EQ(resized(vit, 500, 300), (PixelSize{224, 224}));
  EXPECT_EQ(vit.filter, Filter::bilinear);
  EXPECT_FALSE(vit.crop || vit.pad);
  EXPECT_EQ(vit.mean[0], 0.5);
  const PreprocessorConfig deit = config_of(R"({"image_processor_type": "DeiTImageProcessor"})");
  EXPECT_EQ(resized(deit, 500, 300), (PixelSize{256, 256}));
  EXPECT_EQ(deit.crop, (PixelSize{224, 224}));
  EXPECT_EQ(deit.filter, Filter::bicubic);
  const PreprocessorConfig bit = config_of(R"({"image_processor_type": "BitImageProcessor"})");
  EXPECT_EQ(resized(bit, 500, 300), (PixelSize{373, 224}));
  EXPECT_EQ(bit.crop, (PixelSize{224, 224}));
  EXPECT_EQ(bit.mean[2], 0.40821073);
  const PreprocessorConfig convnext = config_of(R"({"image_processor_type": "ConvNextImageProcessor"})");
  EXPECT_EQ(resized(convnext, 500, 300), (PixelSize{384, 384}));
  EXPECT_FALSE(convnext.crop);
  const PreprocessorConfig detr = config_of(R"({"image_processor_type": "DetrImageProcessor"})");
  EXPECT_EQ(resized(detr, 640, 480), (PixelSize{1066, 800}));
  EXPECT_EQ(detr.std[0], 0.229);
  EXPECT_TRUE(detr.pad);
}

// The files of microsoft/swin-tiny, facebook/deit-base, facebook/convnext-tiny-224 and facebook/detr-resnet-50 in the
// style of their first release.
TEST(PreprocessorConfig, TheOldStyle) {
  const PreprocessorConfig swin = config_of(R"({"feature_extractor_type": "ViTFeatureExtractor", "do_resize": true,
      "size": 224, "resample": 3, "do_normalize": true, "image_mean": [0.485, 0.456, 0.406],
      "image_std": [0.229, 0.224, 0.225]})");
  EXPECT_EQ(resized(swin, 500, 300), (PixelSize{224, 224}));
  EXPECT_EQ(swin.filter, Filter::bicubic);
  EXPECT_EQ(swin.mean[1], 0.456);
  const PreprocessorConfig deit = config_of(R"({"feature_extractor_type": "DeiTFeatureExtractor", "size": 256,
      "crop_size": 224, "do_center_crop": true, "resample": 3})");
  EXPECT_EQ(resized(deit, 500, 300), (PixelSize{256, 256}));
  EXPECT_EQ(deit.crop, (PixelSize{224, 224}));
  const PreprocessorConfig convnext = config_of(
      R"({"feature_extractor_type": "ConvNextFeatureExtractor", "size": 224, "crop_pct": 0.875, "resample": 3})");
  EXPECT_EQ(resized(convnext, 500, 300), (PixelSize{426, 256}));
  EXPECT_EQ(convnext.crop, (PixelSize{224, 224}));
  const PreprocessorConfig detr =
      config_of(R"({"feature_extractor_type": "DetrFeatureExtractor", "size": 800, "max_size": 1333})");
  EXPECT_EQ(resized(detr, 1000, 300), (PixelSize{1333, 400}));
}

// Sizes as transformers' get_size_with_aspect_ratio has them.
TEST(PreprocessorConfig, ShortestEdgeWithinTheLongest) {
  const auto size = [](int width, int height, int shortest, int longest) {
    return image::SizeRule{Kind::shortest_within, {shortest, longest}}.of({width, height});
  };
  EXPECT_EQ(size(178, 238, 64, 100), (PixelSize{64, 85}));
  EXPECT_EQ(size(100, 1000, 64, 100), (PixelSize{10, 100}));
  EXPECT_EQ(size(1000, 100, 64, 100), (PixelSize{100, 10}));
  EXPECT_EQ(size(800, 1200, 800, 1333), (PixelSize{800, 1200}));  // nothing to do
  EXPECT_EQ(size(640, 640, 800, 1333), (PixelSize{800, 800}));
  EXPECT_EQ(image::SizeRule({Kind::within, {100, 50}}).of({300, 300}), (PixelSize{50, 50}));
}

// A long thin image keeps a pixel, and one that transformers' rounding leaves too long still fits the frame.
TEST(Preprocessor, EveryShapeFitsAFixedFrame) {
  const image::Preprocessor preprocessor(config_of(R"({"image_processor_type": "DetrImageProcessor", "do_pad": true,
                    "size": {"shortest_edge": 128, "longest_edge": 128}, "pad_size": {"height": 128, "width": 128}})"));
  for (const PixelSize size : {PixelSize{1, 2000}, PixelSize{2000, 1}, PixelSize{129, 40}, PixelSize{40, 129},
                               PixelSize{1, 1}, PixelSize{300, 200}}) {
    const image::Image prepared = preprocessor.prepare(image::Image(size.width, size.height));
    EXPECT_LE(std::max(prepared.width, prepared.height), 128) << size.width << " x " << size.height;
    EXPECT_NO_THROW(preprocessor.stack(std::vector<image::Image>{prepared}));
  }
}

TEST(PreprocessorConfig, WhatIsTurnedOff) {
  const PreprocessorConfig config = config_of(R"({"image_processor_type": "DeiTImageProcessor", "do_resize": false,
      "do_center_crop": false, "do_rescale": false, "do_normalize": false, "image_mean": null})");
  EXPECT_EQ(resized(config, 50, 30), (PixelSize{50, 30}));
  EXPECT_FALSE(config.crop);
  Image image(2, 1);
  image.pixels = {1, 2, 3, 250, 251, 252};
  const image::Pixels pixels = image::Preprocessor(config)(image);
  EXPECT_EQ(pixels.values, (std::vector<float>{1, 250, 2, 251, 3, 252}));
}

TEST(PreprocessorConfig, Timm) {
  const PreprocessorConfig config = PreprocessorConfig::of_timm(
      parse_json(R"({"input_size": [3, 224, 224], "crop_pct": 0.9, "interpolation": "bicubic", "crop_mode": "center",
                     "mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5], "url": ""})",
                 "test"),
      "config.json");
  EXPECT_EQ(resized(config, 500, 300), (PixelSize{413, 248}));
  EXPECT_EQ(config.crop, (PixelSize{224, 224}));
  EXPECT_EQ(config.precision, image::Precision::pillow);
  EXPECT_EQ(config.centre, image::Centre::to_even);
  const test::TemporaryFolder folder;
  write_file(folder / "config.json",
             R"({"architecture": "mvitv2_tiny", "pretrained_cfg": {"input_size": [3, 32, 32], "crop_pct": 1.0}})");
  const PreprocessorConfig loaded = PreprocessorConfig::load(folder.path());
  EXPECT_EQ(resized(loaded, 64, 64), (PixelSize{32, 32}));
  EXPECT_EQ(loaded.mean[0], 0.485);
}

TEST(PreprocessorConfig, TheModelTypeHelps) {
  const test::TemporaryFolder folder;
  write_file(folder / "preprocessor_config.json", R"({"size": 96})");
  EXPECT_NE(message_of([&] { PreprocessorConfig::load(folder.path()); }).find("image_processor_type"),
            std::string::npos);
  write_file(folder / "config.json", R"({"model_type": "resnet"})");
  EXPECT_EQ(PreprocessorConfig::load(folder.path()).crop, (PixelSize{96, 96}));
}

TEST(PreprocessorConfig, SaysWhatIsWrong) {
  for (const auto& [text, part] : std::initializer_list<std::pair<std::string, std::string>>{
           {R"([1])", "object"},
           {R"({"image_processor_type": "MagicImageProcessor"})", "\"Magic\""},
           {R"({"image_processor_type": "ViTImageProcessor", "size": "large"})", "'size'"},
           {R"({"image_processor_type": "ViTImageProcessor", "size": {"height": 0, "width": 3}})", "'size'"},
           {R"({"image_processor_type": "ViTImageProcessor", "size": 1e9})", "'size'"},
           {R"({"image_processor_type": "ViTImageProcessor", "resample": 9})", "resample is 9"},
           {R"({"image_processor_type": "ViTImageProcessor", "image_mean": [1, 2]})", "'image_mean'"},
           {R"({"image_processor_type": "ViTImageProcessor", "image_std": 0})", "std 0"},
           {R"({"image_processor_type": "ViTImageProcessor", "do_resize": 1})", "'do_resize'"},
           {R"({"image_processor_type": "ConvNextImageProcessor", "crop_pct": 0})", "crop_pct"},
           {R"({"image_processor_type": "ConvNextImageProcessor", "size": {"height": 9, "width": 9}})",
            "shortest_edge"},
       }) {
    const std::string message = message_of([&, &json = text] { config_of(json); });
    EXPECT_NE(message.find("file.json"), std::string::npos) << message;
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
}

TEST(Preprocessor, ABatchIsFilledUp) {
  const image::Preprocessor detr(
      config_of(R"({"image_processor_type": "DetrImageProcessor", "size": {"shortest_edge": 8, "longest_edge": 20}})"));
  const std::vector<Image> images = {Image(16, 8), Image(8, 16)};
  const image::Pixels pixels = detr(images);
  EXPECT_EQ(pixels.height, 16);
  EXPECT_EQ(pixels.width, 16);
  std::int64_t lit = 0;
  for (const auto value : pixels.mask) lit += value;
  EXPECT_EQ(lit, 2 * 8 * 16);
  EXPECT_EQ(pixels.mask[7 * 16 + 15], 1);  // the first is wide
  EXPECT_EQ(pixels.mask[8 * 16], 0);
  EXPECT_EQ(pixels.mask[256 + 15 * 16 + 7], 1);  // the second is tall
  EXPECT_EQ(pixels.values[15 * 16], 0);          // nothing, not black
  EXPECT_NEAR(pixels.values[0], -0.485 / 0.229, 1e-6);
  const image::Preprocessor bit(config_of(
      R"({"image_processor_type": "BitImageProcessor", "size": {"shortest_edge": 8}, "do_center_crop": false})"));
  EXPECT_NE(message_of([&] { bit(images); }).find("16 x 8 and 8 x 16"), std::string::npos);
}

TEST(Preprocessor, TheMiddleIsTheSameWithAndWithoutTheRest) {
  Image image(50, 40);
  for (std::size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<std::uint8_t>(i * i / 7);
  const auto config =
      config_of(R"({"image_processor_type": "BitImageProcessor", "size": {"shortest_edge": 25}, "crop_size": 20})");
  const Image whole = image::resize(image, 31, 25, {.filter = config.filter, .precision = config.precision});
  EXPECT_EQ(image::Preprocessor(config).prepare(image), image::crop(whole, {5, 2, 25, 22}));
  const auto larger =
      config_of(R"({"image_processor_type": "BitImageProcessor", "size": {"shortest_edge": 25}, "crop_size": 28})");
  EXPECT_EQ(image::Preprocessor(larger).prepare(image), image::crop(whole, {1, -1, 29, 27}));
}

TEST(Preprocessor, ChannelsLast) {
  Image image(2, 2);
  for (std::size_t i = 0; i < 12; ++i) image.pixels[i] = static_cast<std::uint8_t>(20 * i);
  const image::Normalization normalization(1.0 / 255, {0.5, 0.4, 0.3}, {0.5, 0.25, 0.2});
  std::vector<float> planes(12), floats(12);
  image::to_planes(image, normalization, planes.data(), 2, 4);
  image::to_floats(image, normalization, floats.data());
  for (std::size_t i = 0; i < 12; ++i) EXPECT_NEAR(floats[i], planes[i % 3 * 4 + i / 3], 1e-6f);
  EXPECT_NEAR(floats[4], (80 / 255.0 - 0.4) / 0.25, 1e-6);
}

TEST(PreprocessCommand, WritesWhatTheModelSees) {
  if (!test::reads(".png")) GTEST_SKIP() << "this build reads no PNG";
  const test::TemporaryFolder folder;
  write_file(folder / "preprocessor_config.json",
             R"({"image_processor_type": "DetrImageProcessor", "size": {"shortest_edge": 8, "longest_edge": 20}})");
  fs::create_directory(folder / "photos");
  write_file(folder / "photos/b.png", image::encode_png(Image(16, 8)));
  write_file(folder / "photos/a.PNG", image::encode_png(Image(8, 8)));
  write_file(folder / "photos/notes.txt", "none");
  const std::string out = (folder / "pixels.safetensors").string();
  const auto run = [&](std::vector<std::string> words) {
    std::vector<std::string> all = {"preprocess", "--model", folder.path().string(), "--out", out};
    all.insert(all.end(), words.begin(), words.end());
    return test::run_attend(all);
  };
  const auto done = run({(folder / "photos").string(), "--json"});
  ASSERT_EQ(done.code, 0) << done.err;
  const Json summary = parse_json(done.out, "output");
  EXPECT_EQ(summary["images"].size(), 2u);
  EXPECT_TRUE(summary["images"][0]["file"].text().ends_with("a.PNG"));
  EXPECT_EQ(summary["pixel_values"], Json::array({2, 3, 8, 16}));
  const checkpoint::Safetensors written = checkpoint::Safetensors::open(out);
  EXPECT_EQ(written["pixel_values"].shape, (Shape{2, 3, 8, 16}));
  EXPECT_EQ(written["pixel_mask"].type, checkpoint::StoredType::i64);
  EXPECT_EQ(written.ints("pixel_mask")[8], 0);
  write_file(folder / "photos/c.png", "no image");
  const auto bad = run({(folder / "photos").string()});
  EXPECT_EQ(bad.code, 1);
  EXPECT_NE(bad.err.find("c.png: is no image"), std::string::npos) << bad.err;
  EXPECT_EQ(run({(folder / "none.png").string()}).code, 1);
  fs::create_directory(folder / "empty");
  EXPECT_NE(run({(folder / "empty").string()}).err.find("holds no"), std::string::npos);
}

}  // namespace
}  // namespace attend
