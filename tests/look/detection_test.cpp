// attend look with a DETR: what is shown is what the detector finds, and where its queries and places look is what
// transformers says of the same image.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/checkpoint/safetensors.h"
#include "attend/image/encode.h"
#include "attend/look/api/api.h"
#include "attend/look/api/detection_api.h"
#include "attend/look/api/export.h"
#include "attend/look/inspect/detection.h"
#include "attend/look/inspect/image_json.h"
#include "tests/tasks/changed_folder.h"
#include "tests/tensor/tensors.h"

namespace attend::look {
namespace {

namespace fs = std::filesystem;
using test::cpu;

constexpr int kWide = 96, kHigh = 64;
constexpr std::int64_t kQueries = 7;
constexpr double kRange = 10;  // the fixture's pixels are numbers from -5 to 5

class LookDetection : public testing::Test {
 protected:
  LookDetection() : model_("tests/fixtures/data/detr") {
    preprocessor(Json::object());
    detector_.emplace(model_.path(), cpu());
  }

  void preprocessor(const Json& more) const {
    Json json = {{"image_processor_type", "DetrImageProcessor"},
                 {"do_resize", false},
                 {"image_mean", {0.5, 0.5, 0.5}},
                 {"image_std", {1 / kRange, 1 / kRange, 1 / kRange}}};
    json.update(more);
    write_file(fs::path(model_.path()) / "preprocessor_config.json", json.dump());
  }

  // The fixture's first image, as near as bytes can be.
  static image::Image image() {
    const std::vector<float> values =
        checkpoint::Safetensors::open("tests/fixtures/data/detr/expected.safetensors").floats("pixel_values");
    image::Image result(kWide, kHigh);
    for (int y = 0; y < kHigh; ++y)
      for (int x = 0; x < kWide; ++x)
        for (int c = 0; c < 3; ++c) {
          const double value = static_cast<double>(values[static_cast<std::size_t>((c * kHigh + y) * kWide + x)]);
          result.row(y)[3 * x + c] =
              static_cast<std::uint8_t>(std::lround(std::clamp(value / kRange + 0.5, 0.0, 1.0) * 255));
        }
    return result;
  }

  test::ChangedFolder model_;
  std::optional<tasks::Detector> detector_;
};

TEST_F(LookDetection, ShowsWhatTheDetectorFinds) {
  const image::Image prepared = detector_->prepare(image());
  const DetectionInspection seen = inspect_detection(*detector_, prepared);
  const std::vector<image::PixelSize> unit = {{1, 1}};
  const auto found = detector_->detect(std::span(&prepared, 1), unit, 0)[0];
  ASSERT_EQ(seen.boxes.size(), found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(seen.boxes[i].query, found[i].query);
    EXPECT_EQ(seen.boxes[i].label, detector_->labels()[static_cast<std::size_t>(found[i].label)]);
    EXPECT_NEAR(seen.boxes[i].score, found[i].score, 1e-6);
    EXPECT_NEAR(seen.boxes[i].box[2], found[i].box.width, 1e-6);
  }
}

// transformers' weights of the exact pixels; ours are of bytes, which moves them a little.
TEST_F(LookDetection, QueriesLookWhereTransformersSaysTheyDo) {
  const DetectionInspection seen = inspect_detection(*detector_, detector_->prepare(image()));
  const checkpoint::Safetensors expected =
      checkpoint::Safetensors::open("tests/fixtures/data/detr/expected.safetensors");
  const std::int64_t places = seen.grid.h * seen.grid.w;
  ASSERT_EQ(seen.decoder.size(), 2u);
  for (std::size_t layer = 0; layer < 2; ++layer) {
    const std::vector<float> weights = expected.floats("cross_attention." + std::to_string(layer));
    const GridAttention& ours = seen.decoder[layer];
    ASSERT_EQ(ours.places, places);
    ASSERT_EQ(weights.size(), 2 * ours.weights.size());  // of two images
    double off = 0;
    for (std::size_t i = 0; i < ours.weights.size(); ++i) {
      EXPECT_NEAR(ours.weights[i], weights[i], 0.08);
      off += std::abs(static_cast<double>(ours.weights[i] - weights[i]));
    }
    EXPECT_LT(off / static_cast<double>(ours.weights.size()), 0.01);
  }
}

TEST_F(LookDetection, EveryRowOfAttentionIsWhole) {
  for (const bool padded : {false, true}) {
    if (padded) preprocessor({{"do_pad", true}, {"pad_size", {{"height", 128}, {"width", 160}}}});
    const tasks::Detector detector(model_.path(), cpu());
    const DetectionInspection seen = inspect_detection(detector, detector.prepare(image()));
    EXPECT_EQ(seen.grid.h, 2) << padded;  // of the image, not of what it is padded to
    EXPECT_EQ(seen.grid.w, 3) << padded;
    for (const auto* layers : {&seen.encoder, &seen.decoder})
      for (const GridAttention& layer : *layers)
        for (std::int64_t row = 0; row < layer.rows; ++row)
          for (std::int64_t head = -1; head < layer.heads; ++head) {
            double sum = 0;
            for (const float one : layer.row(row, head)) sum += static_cast<double>(one);
            EXPECT_NEAR(sum, 1, 1e-3);  // the fixture's scores are in the hundreds
          }
    EXPECT_EQ(seen.boxes[0].looks, seen.decoder.back().row(seen.boxes[0].query));
  }
}

class LookDetectionApi : public LookDetection {
 protected:
  LookDetectionApi() : images_(*detector_), api_({.images = &images_}, {.name = "detr"}) {}
  http::Response post(const char* path, const std::string& body, const char* type = "application/json") {
    return api_.handle({.method = "POST", .path = path, .host = "localhost", .content_type = type, .body = body});
  }
  static Json json(const http::Response& response) { return parse_json(response.body, "answer"); }

  DetectionApi images_;
  Api api_;
};

TEST_F(LookDetectionApi, AnswersAboutQueriesAndPlaces) {
  const Json model = api_.model();
  EXPECT_EQ(model.at("kind"), "detection");
  EXPECT_EQ(model.at("queries"), kQueries);
  EXPECT_EQ(model.at("attention").size(), 4u);
  const Json name = json(post("/api/image", image::encode_png(image()), "image/png")).at("image");
  const Json seen = json(post("/api/inspect", Json{{"image", name}}.dump()));
  const DetectionInspection expected = inspect_detection(*detector_, detector_->prepare(image()));
  EXPECT_EQ(seen.at("grid"), Json({2, 3}));
  ASSERT_EQ(seen.at("boxes").size(), static_cast<std::size_t>(kQueries));
  EXPECT_EQ(seen.at("boxes")[0].at("heat"), packed_shares(expected.boxes[0].looks));
  for (const auto& [who, layers] : {std::pair{"query", &expected.decoder}, std::pair{"place", &expected.encoder}}) {
    const Json looks = json(post("/api/attention", Json{{"image", name}, {who, 4}}.dump()));
    ASSERT_EQ(looks.at("layers").size(), 2u);
    std::vector<float> heads;
    for (std::int64_t head = 0; head < 4; ++head)
      for (const float one : (*layers)[1].row(4, head)) heads.push_back(one);
    EXPECT_EQ(looks.at("layers")[1].at("weights"), packed_shares(heads));
  }
}

TEST_F(LookDetectionApi, RefusesWhatMakesNoSense) {
  for (const char* body :
       {R"({"image": "cat"})", R"({"image": "cat", "query": 7})", R"({"image": "cat", "query": -1})",
        R"({"image": "cat", "place": 9999})", R"({"image": "gone", "query": 0})", R"({"query": 0})", "[]"})
    EXPECT_EQ(post("/api/attention", body).status, 400) << body;
  EXPECT_EQ(post("/api/inspect", R"({"image": "gone"})").status, 400);
  EXPECT_EQ(post("/api/trace", R"({"image": "cat"})").status, 400);
  EXPECT_EQ(post("/api/positions", "{}").status, 400);
}

TEST_F(LookDetectionApi, OneFileAndOneImageCarryIt) {
  const std::string name = images_.keep(image::encode_png(image())).at("image").text();
  const Json data = images_.exported(name);
  EXPECT_EQ(data.at("looks").at("place 5"), images_.attention({{"image", name}, {"place", 5}}));
  EXPECT_NE(exported_image(api_, images_, name).find("id=\"data\""), std::string::npos);
  const DetectionInspection seen = inspect_detection(*detector_, detector_->prepare(image()));
  EXPECT_EQ(detection_tiles(seen, 0).queries.size(), static_cast<std::size_t>(kQueries));
  EXPECT_EQ(detection_tiles(seen, 2).places.size(), 0u);
  const view::Figure page = detection_page(seen, "a.png", 0);
  EXPECT_EQ(page.pixels.size(), 1u + 2 * static_cast<std::size_t>(kQueries));
  const view::Figure empty = detection_page(seen, "a.png", 2);
  EXPECT_LT(empty.height, page.height);
  EXPECT_EQ(empty.texts.front().text, "a.png → nothing");
}

}  // namespace
}  // namespace attend::look
