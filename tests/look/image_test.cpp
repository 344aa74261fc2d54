// attend look with a model that looks at images: what is shown is what the model computes by itself, and what people
// send is an image or an error.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <set>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/checkpoint/safetensors.h"
#include "attend/image/encode.h"
#include "attend/look/api/api.h"
#include "attend/look/api/export.h"
#include "attend/look/api/image_api.h"
#include "attend/look/api/sample_images.h"
#include "attend/look/inspect/image.h"
#include "attend/look/inspect/image_json.h"
#include "attend/look/inspect/image_page.h"
#include "attend/look/inspect/run_painter.h"
#include "attend/look/inspect/weights.h"
#include "attend/ops/windows.h"
#include "attend/tasks/image_encoder.h"
#include "attend/view/terminal_image.h"
#include "tests/tensor/tensors.h"

namespace attend::look {
namespace {

namespace fs = std::filesystem;
using test::cpu;

image::Image stripes(int width, int height) {
  image::Image image(width, height);
  for (std::size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<std::uint8_t>(i * 37 + i / 90);
  return image;
}

// One attention by hand: weights [windows, heads, rows, columns].
ImageAttention attention(models::AttentionPlace place, const Shape& shape, std::vector<float> weights) {
  return {std::move(place), view::AttentionWeights{shape, std::move(weights)}};
}

class LookImages : public testing::TestWithParam<const char*> {
 protected:
  LookImages() : folder_(fs::temp_directory_path() / ("attend_look_images_" + std::to_string(getpid()))) {
    for (const char* name : {"config.json", "model.safetensors"})
      write_file(folder_ / name, read_file(fs::path("tests/fixtures/data") / GetParam() / name));
    write_file(folder_ / "preprocessor_config.json",
               R"({"image_processor_type": "ViTImageProcessor", "size": {"height": 32, "width": 32}})");
    inspector_ = std::make_unique<ImageInspector>(folder_, cpu(), DType::f32);
    prepared_ = inspector_->prepare(stripes(50, 40));
  }
  ~LookImages() override { fs::remove_all(folder_); }

  std::vector<tasks::ClassLabel> classified(const image::Image& prepared, const std::string& zeroed = {}) const {
    tasks::ImageEncoder encoder(folder_, catalogue::Task::classify_images, cpu(), {DType::f32, nn::WeightForm::plain});
    if (!zeroed.empty()) {
      const nn::Parameters::Entry& entry = find_entry(encoder.parameters(), zeroed);
      encoder.parameters().write(entry, std::vector<float>(encoder.parameters().read(entry).size(), 0.0f));
    }
    return encoder.classify(std::span(&prepared, 1), 0)[0].labels;
  }
  static void expect_labels(const ImageInspection& seen, const std::vector<tasks::ClassLabel>& expected) {
    ASSERT_EQ(seen.labels.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(seen.labels[i].text, expected[i].label);
      EXPECT_NEAR(seen.labels[i].probability, expected[i].probability, 1e-5);
    }
  }
  std::string head_of(std::int64_t layer) const {
    return inspector_->anatomy().attention[static_cast<std::size_t>(layer)].output + ".weight";
  }

  fs::path folder_;
  std::unique_ptr<ImageInspector> inspector_;
  image::Image prepared_;
};

TEST_P(LookImages, SaysWhatTheModelSaysAndEveryRowOfAttentionIsWhole) {
  const ImageInspection seen = inspector_->inspect(prepared_);
  expect_labels(seen, classified(prepared_));
  EXPECT_EQ(seen.seen, prepared_);
  ASSERT_FALSE(seen.attention.empty());
  for (const ImageAttention& layer : seen.attention) {
    for (std::int64_t h = 0; h < layer.place.heads; ++h)
      for (std::int64_t r = 0; r < layer.rows; ++r) {
        double sum = 0;
        for (std::int64_t c = 0; c < layer.columns; ++c) sum += static_cast<double>(layer.weight(0, h, r, c));
        EXPECT_NEAR(sum, 1, 1e-5);
      }
    // Heat is the class token's row without the tokens.
    const std::vector<float> heat = layer.heat(1);
    for (std::size_t i = 0; i < heat.size(); ++i)
      EXPECT_EQ(heat[i], layer.weight(0, 1, 0, layer.place.tokens + static_cast<std::int64_t>(i)));
  }
  double rolled = 0;
  for (const float one : seen.rollout.weights) rolled += static_cast<double>(one);
  EXPECT_EQ(seen.rollout.missing, "");
  EXPECT_GT(rolled, 0);
  EXPECT_LT(rolled, 1);
}

TEST_P(LookImages, TheWalkAgreesWithTheFusedKernels) {
  const ImageInspection seen = inspector_->inspect(prepared_);
  for (std::int64_t layer = 0; layer < static_cast<std::int64_t>(seen.attention.size()); ++layer) {
    const ImageAttention& shown = seen.attention[static_cast<std::size_t>(layer)];
    const view::Trace trace = inspector_->trace(prepared_, {.layer = layer, .head = 1, .token = 3});
    const std::vector<float>& weights = trace.at("softmax").values;
    ASSERT_EQ(static_cast<std::int64_t>(weights.size()), shown.columns);
    for (std::int64_t i = 0; i < shown.columns; ++i)
      EXPECT_NEAR(weights[static_cast<std::size_t>(i)], shown.weight(0, 1, 3, i), 2e-5);
    const std::vector<float>&mixed = trace.at("weights·v").values, &fused = trace.at("concat").values;
    for (std::size_t i = 0; i < mixed.size(); ++i) EXPECT_NEAR(mixed[i], fused[mixed.size() + i], 2e-5);
  }
  EXPECT_EQ(inspector_->trace(prepared_, {.layer = 0, .token = 2}).at("next layer").values,
            inspector_->trace(prepared_, {.layer = 1, .token = 2}).at("x").values);
  EXPECT_THROW(inspector_->trace(prepared_, {.layer = 9}), Error);
  EXPECT_THROW(inspector_->trace(prepared_, {.token = 99}), Error);
}

TEST_P(LookImages, AllHeadsOffIsAProjectionOfZeros) {
  ImageOptions options;
  for (std::int64_t head = 0; head < inspector_->places()[1].heads; ++head)
    options.ablation.heads.push_back({{"encoder", "self", 1}, head, 0});
  expect_labels(inspector_->inspect(prepared_, options), classified(prepared_, head_of(1)));
  expect_labels(inspector_->inspect(prepared_), classified(prepared_));  // and it left no trace
  options.ablation.heads.push_back({{"encoder", "self", 1}, 77, 0});
  EXPECT_THROW(inspector_->inspect(prepared_, options), Error);
}

TEST_P(LookImages, ALayerThatIsOffHandsOnWhatItGot) {
  ImageOptions options;
  options.ablation.layers = {{"encoder", 0}, {"encoder", 1}, {"encoder", 2}};
  const ImageInspection off = inspector_->inspect(prepared_, options);
  options.ablation.heads = {{{"encoder", "self", 1}, 0, 0.5f}};
  EXPECT_EQ(off.text, inspector_->inspect(prepared_, options).text);
  EXPECT_NE(off.labels[0].probability, inspector_->inspect(prepared_).labels[0].probability);
}

TEST_P(LookImages, AHiddenPatchIsPaintedOver) {
  ImageOptions options;
  options.ablation.masked = {5};
  const ImageInspection seen = inspector_->inspect(prepared_, options);
  image::Image painted = prepared_;
  for (int y = 8; y < 16; ++y)  // patch 5 of 4 x 4, each of 8 x 8 pixels
    for (int x = 24; x < 48; ++x) painted.row(y)[x] = 128;
  EXPECT_EQ(seen.seen, painted);
  expect_labels(seen, classified(painted));
  options.ablation.masked = {16};
  EXPECT_THROW(inspector_->inspect(prepared_, options), Error);
}

TEST_P(LookImages, WithoutPositionsThePatchesAreABag) {
  image::Image swapped = prepared_;  // the two halves change places
  for (int y = 0; y < 16; ++y)
    std::swap_ranges(swapped.row(y), swapped.row(y) + swapped.row_bytes(), swapped.row(y + 16));
  ImageOptions options;
  options.ablation.positions = false;
  const auto &one = inspector_->inspect(prepared_, options).labels,
             &other = inspector_->inspect(swapped, options).labels;
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i].probability, other[i].probability, 1e-5);
}

TEST_P(LookImages, LikenessOfPositionsIsTheCosineOfTheirVectors) {
  const std::vector<float> likeness = inspector_->position_likeness();
  ASSERT_EQ(likeness.size(), 256u);
  const std::string prefix = GetParam();
  const checkpoint::Safetensors file = checkpoint::Safetensors::open((folder_ / "model.safetensors").string());
  const std::vector<float> table = file.floats(prefix + ".embeddings.position_embeddings");
  const std::size_t width = 24, first = table.size() / width - 16;
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < width; ++i) {
    const auto a = static_cast<double>(table[(first + 2) * width + i]);
    const auto b = static_cast<double>(table[(first + 9) * width + i]);
    ab += a * b, aa += a * a, bb += b * b;
  }
  EXPECT_NEAR(likeness[2 * 16 + 9], ab / std::sqrt(aa * bb), 1e-5);
  for (std::size_t i = 0; i < 16; ++i) EXPECT_NEAR(likeness[17 * i], 1, 1e-6);
}

// A run that learns from images shows them as the page shows one.
TEST_P(LookImages, ARunPaintsItsExamples) {
  const ImageInspection seen = inspector_->inspect(prepared_);
  train::Example example{.written_text = "right", .text = seen.text, .image = train::Example::Image{prepared_}};
  for (const Candidate& label : seen.labels) example.image->labels.emplace_back(label.text, label.probability);
  for (const ImageAttention& layer : seen.attention)
    example.attention.push_back({.label = layer.place.label,
                                 .shape = {1, layer.place.heads, layer.rows, layer.columns},
                                 .weights = layer.weights});
  RunPainter painter(folder_);
  const Json painted = painter.paint({example})[0], expected = image_json(seen);
  for (const char* part : {"seen", "text", "attention", "rollout"}) EXPECT_EQ(painted.at(part), expected.at(part));
  EXPECT_EQ(painted.at("target").at("text"), "right");
  EXPECT_EQ(painted.at("labels")[0].at("text"), seen.labels[0].text);
}

INSTANTIATE_TEST_SUITE_P(Models, LookImages, testing::Values("vit", "deit"));

class LookImageApi : public LookImages {
 protected:
  LookImageApi() : images_(*inspector_), api_({.images = &images_}, {.name = "vit"}) {}
  http::Response post(const char* path, const std::string& body, const char* type = "application/json") {
    return api_.handle({.method = "POST", .path = path, .host = "localhost", .content_type = type, .body = body});
  }
  http::Response get(const char* path) {
    return api_.handle({.method = "GET", .path = path, .host = "localhost", .content_type = {}, .body = {}});
  }
  static Json json(const http::Response& response) { return parse_json(response.body, "answer"); }

  ImageApi images_;
  Api api_;
};

TEST_P(LookImageApi, AImageIsSentOnceAndThenKnownByItsName) {
  const Json model = json(get("/api/model"));
  EXPECT_EQ(model.at("kind"), "image");
  EXPECT_EQ(model.at("attention")[0].at("queries"), Json({4, 4}));
  const http::Response kept = post("/api/image", image::encode_png(stripes(50, 40)), "image/png");
  ASSERT_EQ(kept.status, 200) << kept.body;
  const Json name = json(kept).at("image");
  const Json seen = json(post("/api/inspect", Json{{"image", name}}.dump()));
  const ImageInspection expected = inspector_->inspect(prepared_);
  EXPECT_EQ(seen.at("text"), expected.text);
  EXPECT_EQ(seen.at("labels").size(), expected.labels.size());
  EXPECT_TRUE(seen.at("seen").text().starts_with("data:image/png;base64,"));
  const Json layer = json(post("/api/attention", Json{{"image", name}, {"layer", 1}}.dump()));
  EXPECT_EQ(layer.at("rows"), expected.attention[1].rows);
  const auto bytes = static_cast<std::size_t>(2 * expected.attention[1].weights.size());
  EXPECT_EQ(layer.at("weights").text().size(), (bytes + 2) / 3 * 4);
  EXPECT_EQ(post("/api/trace", Json{{"image", name}, {"layer", 1}}.dump()).status, 200);
  EXPECT_EQ(post("/api/positions", "{}").status, 200);
  const Json hidden = {{"image", name}, {"ablation", {{"masked", {0}}, {"heads", {{{"layer", 1}, {"head", 1}}}}}}};
  EXPECT_NE(json(post("/api/inspect", hidden.dump())).at("labels"), seen.at("labels"));
  EXPECT_EQ(json(post("/api/inspect", Json{{"image", name}}.dump())).at("labels"), seen.at("labels"));
}

TEST_P(LookImageApi, SamplesAreOurOwnAndCanBeAskedFor) {
  std::set<std::string> different;
  const auto samples = sample_images(SampleKind::objects);
  for (const SampleImage& sample : samples) {
    const http::Response file = get(("/samples/" + std::string(sample.name)).c_str());
    EXPECT_EQ(file.type, "image/png");
    EXPECT_LT(file.body.size(), 32u << 10);
    different.insert(file.body);
    EXPECT_EQ(post("/api/inspect", Json{{"image", sample.name}}.dump()).status, 200);
  }
  EXPECT_EQ(different.size(), samples.size());
  for (const char* path : {"/samples/", "/samples/unicorn", "/samples/../index.html"}) EXPECT_EQ(get(path).status, 404);
}

TEST_P(LookImageApi, RefusesWhatIsNoImageAndWhatMakesNoSense) {
  const std::string png = image::encode_png(stripes(50, 40));
  const auto refused = [&](const http::Response& response, int status, const char* words) {
    EXPECT_EQ(response.status, status) << response.body;
    EXPECT_NE(json(response).at("error").text().find(words), std::string::npos) << response.body;
  };
  refused(post("/api/image", "GIF89a", "image/png"), 400, "GIF");
  refused(post("/api/image", "", "image/png"), 400, "the image");
  refused(post("/api/image", png.substr(0, png.size() / 2), "image/png"), 400, "the image");
  refused(post("/api/image", std::string(100, '\0'), "image/jpeg"), 400, "the image");
  refused(post("/api/image", png, "image/gif"), 415, "image/png");
  refused(post("/api/image", "{}", "application/json"), 415, "image/png");
  refused(get("/api/image"), 405, "POST");
  // A small file that claims to be vast: the width and height of a PNG are its bytes 16 to 23.
  std::string vast = png;
  for (const std::size_t at : {16u, 20u}) vast[at] = 0, vast[at + 1] = 0, vast[at + 2] = '\x7f', vast[at + 3] = '\x7f';
  refused(post("/api/image", vast, "image/png"), 400, "the image");
  for (const char* body :
       {"", "[]", "{}", R"({"image": 3})", R"({"image": "gone"})", R"({"image": "cat", "ablation": 3})",
        R"({"image": "cat", "ablation": {"masked": [99]}})", R"({"image": "cat", "ablation": {"masked": [-1]}})",
        R"({"image": "cat", "ablation": {"heads": [{"layer": 9}]}})",
        R"({"image": "cat", "ablation": {"layers": [{"layer": 9}]}})"})
    EXPECT_EQ(post("/api/inspect", body).status, 400) << body;
  refused(post("/api/attention", R"({"image": "cat", "layer": 9})"), 400, "layer 9");
  refused(post("/api/trace", R"({"image": "cat", "token": 400})"), 400, "token 400");
}

TEST_P(LookImageApi, TheLastFewAreKept) {
  const Json first = json(post("/api/image", image::encode_png(stripes(40, 40)), "image/png")).at("image");
  for (int i = 0; i < 16; ++i) post("/api/image", image::encode_png(stripes(41 + i, 40)), "image/png");
  const http::Response gone = post("/api/inspect", Json{{"image", first}}.dump());
  EXPECT_EQ(gone.status, 400);
  EXPECT_NE(gone.body.find("choose it again"), std::string::npos);
}

TEST_P(LookImageApi, OneFileCarriesAImage) {
  const std::string page = exported_image(api_, images_, "boat");
  EXPECT_EQ(page.find("href=\"style.css\""), std::string::npos);
  EXPECT_NE(page.find("look/image_view"), std::string::npos);
  EXPECT_NE(page.find("data:image/png;base64,"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Models, LookImageApi, testing::Values("vit"));

// Two layers of a class token and one patch, two heads each. By hand:
//   mean A1 = [.5 .5; .2 .8] -> ½A1 + ½I = [.75 .25; .1 .9]    mean A2 = [.6 .4; .3 .7] -> [.8 .2; .15 .85]
//   the class token's row of the product: .8 [.75 .25] + .2 [.1 .9] = [.62 .38]
TEST(ImageRollout, IsTheProductOfTheLayers) {
  const models::AttentionPlace place{.label = "a", .heads = 2, .tokens = 1, .queries = {1, 1}, .keys = {1, 1}};
  const std::vector<ImageAttention> layers = {attention(place, {1, 2, 2, 2}, {.4f, .6f, .2f, .8f, .6f, .4f, .2f, .8f}),
                                              attention(place, {1, 2, 2, 2}, {.7f, .3f, .3f, .7f, .5f, .5f, .3f, .7f})};
  const Rollout rollout = rollout_of(layers);
  ASSERT_EQ(rollout.weights.size(), 1u);
  EXPECT_NEAR(rollout.weights[0], 0.38, 1e-6);
}

TEST(ImageRollout, IsLeftOutWhereItMeansNothing) {
  EXPECT_NE(rollout_of({}).missing, "");
  const models::AttentionPlace windows{.label = "a", .queries = {2, 2}, .keys = {2, 2}, .window = 1};
  const std::vector<ImageAttention> cut = {attention(windows, {4, 1, 1, 1}, {1, 1, 1, 1})};
  EXPECT_NE(rollout_of(cut).missing.find("windows"), std::string::npos);
  const models::AttentionPlace pooled{.label = "a", .queries = {1, 2}, .keys = {1, 1}};
  const std::vector<ImageAttention> fewer = {attention(pooled, {1, 1, 2, 1}, {1, 1})};
  EXPECT_NE(rollout_of(fewer).missing.find("grid"), std::string::npos);
  EXPECT_EQ(fewer[0].heat(0), std::vector<float>{1});
  EXPECT_THROW(attention(pooled, {1, 1, 2, 2}, {1, 0, 1, 0}), Error);
}

// Places of shifted windows are where roll and window_partition put them; what fills the grid up lies nowhere.
TEST(ImageWindows, LieWhereTheOpsPutThem) {
  const std::int64_t side = 5, window = 2, padded = 6, shift = 1;
  std::vector<float> places(padded * padded, -1.0f);
  for (std::int64_t y = 0; y < side; ++y)
    for (std::int64_t x = 0; x < side; ++x)
      places[static_cast<std::size_t>(y * padded + x)] = static_cast<float>(y * side + x);
  const Tensor grid = make_tensor(cpu(), {1, padded, padded, 1}, DType::f32);
  upload(grid, places);
  const std::vector<float> expected =
      download(ops::window_partition(ops::roll(grid, {{1, -shift}, {2, -shift}}), window));
  const models::AttentionPlace place{
      .label = "a", .queries = {side, side}, .keys = {side, side}, .window = window, .shift = shift};
  const ImageAttention seen = attention(place, {9, 1, 4, 4}, std::vector<float>(9 * 16, 0.25f));
  for (std::int64_t w = 0; w < 9; ++w)
    for (std::int64_t i = 0; i < 4; ++i)
      EXPECT_EQ(seen.key_place(w, i), static_cast<std::int64_t>(expected[static_cast<std::size_t>(4 * w + i)]));
  for (const float one : seen.heat(0)) EXPECT_EQ(one, 0.25f);
}

TEST(TerminalImages, AreBlocksWithColourAndPlainWithout) {
  const image::Image image = stripes(32, 32);
  const std::vector<float> weights = {0, 1, 0, 0};
  const std::string plain = view::draw(image, {2, 2, weights}, {.width = 40});
  EXPECT_EQ(plain.find('\x1b'), std::string::npos);
  for (const char c : plain) EXPECT_TRUE(c == '\n' || (c >= ' ' && c < 127));
  const std::string colour = view::draw(image, {2, 2, weights}, {.interactive = true, .color = true, .width = 40});
  EXPECT_NE(colour.find("\x1b[38;2;"), std::string::npos);
  EXPECT_EQ(std::count(colour.begin(), colour.end(), '\n'), std::count(plain.begin(), plain.end(), '\n'));
}

}  // namespace
}  // namespace attend::look
