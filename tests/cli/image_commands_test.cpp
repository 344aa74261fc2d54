// attend make-data, score, describe and draw: files in, files and numbers out, and a message for what cannot be.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/image/encode.h"
#include "tests/base/fixtures.h"
#include "tests/cli/run_attend.h"

namespace attend {
namespace {

namespace fs = std::filesystem;
using test::Outcome;

class ImageCommands : public testing::Test {
 protected:
  ImageCommands() : folder_(fs::temp_directory_path() / ("attend_images_" + std::to_string(getpid()))) {}
  ~ImageCommands() override { fs::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& content) const {
    write_file(folder_ / name, content);
    return (folder_ / name).string();
  }

  static Outcome score(const std::string& metric, const std::string& truth, const std::string& results,
                       const std::string& more = "--json") {
    std::vector<std::string> words = {"score", "--metric", metric, "--ground-truth", truth, "--predictions", results};
    if (!more.empty()) words.push_back(more);
    return test::run_attend(words);
  }

  static void expect_error(const Outcome& result, const std::vector<std::string>& parts) {
    EXPECT_EQ(result.code, 1);
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << result.err;
    for (const std::string& part : parts) EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
  }

  fs::path folder_;
};

TEST_F(ImageCommands, CocoScoresAreThoseOfTheFixture) {
  const std::optional<Json> cases = test::fixture_json("vision", "coco_ap.cases.json");
  if (!cases) GTEST_SKIP() << test::kNoFixture;
  for (const Json& item : *cases) {
    SCOPED_TRACE(item.at("note").text());
    const Outcome result = score("coco", file("truth.json", item.at("ground_truth").dump()),
                                 file("results.json", item.at("detections").dump()));
    ASSERT_EQ(result.code, 0) << result.err;
    const Json json = parse_json(result.out, "output");
    ASSERT_EQ(json.at("stats").size(), 12u);
    for (int i = 0; i < 12; ++i)
      EXPECT_NEAR(json.at("stats")[i].get<double>(), item.at("stats")[i].get<double>(), 1e-6) << i;
    ASSERT_EQ(json.at("per_category").size(), item.at("per_category").size());
    for (const auto& [id, value] : item.at("per_category").items())
      EXPECT_NEAR(json.at("per_category").at(id).get<double>(), value.get<double>(), 1e-6) << id;
  }
}

TEST_F(ImageCommands, CaptionScoresAreThoseOfTheFixture) {
  const std::optional<Json> cases = test::fixture_json("vision", "caption_metrics.cases.json");
  if (!cases) GTEST_SKIP() << test::kNoFixture;
  for (const Json& item : *cases) {
    SCOPED_TRACE(item.at("note").text());
    Json images = Json::array(), annotations = Json::array(), results = Json::array();
    for (std::size_t i = 0; i < item.at("hypotheses").size(); ++i) {
      images.push_back({{"id", i}});
      results.push_back({{"image_id", i}, {"caption", item.at("hypotheses")[i]}});
      for (const Json& text : item.at("references")[i]) annotations.push_back({{"image_id", i}, {"caption", text}});
    }
    for (std::size_t i = 0; i < annotations.size(); ++i) annotations[i]["id"] = i;
    const Json truth = {{"images", images}, {"annotations", annotations}};
    const Outcome result = score("captions", file("truth.json", truth.dump()), file("results.json", results.dump()));
    ASSERT_EQ(result.code, 0) << result.err;
    const Json json = parse_json(result.out, "output");
    for (int n = 0; n < 4; ++n)
      EXPECT_NEAR(json.at("bleu")[n].get<double>(), item.at("bleu")[n].get<double>(), 1e-6) << n;
    EXPECT_NEAR(json.at("rouge_l").get<double>(), item.at("rouge_l").get<double>(), 1e-6);
    EXPECT_NEAR(json.at("cider").get<double>(), item.at("cider").get<double>(), 1e-6);
  }
}

constexpr const char* kTruth =
    R"({"images": [{"id": 1}], "categories": [{"id": 4, "name": "disc"}, {"id": 5, "name": "7"}],
  "annotations": [{"id": 1, "image_id": 1, "category_id": 4, "bbox": [0, 0, 10, 10], "area": 100, "iscrowd": 0}]})";

TEST_F(ImageCommands, TablesAreReadable) {
  const std::string truth = file("truth.json", kTruth);
  const std::string box = R"({"image_id": 1, "category_id": 4, "bbox": [0, 0, 10, 8], "score": 0.5})";
  const Outcome result = score("coco", truth, file("results.json", "[" + box + "]"), "");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("AP  0.50:0.95  all            100   0.700\n"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("AP  0.50:0.95  large          100       -\n"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("disc       0.700\n"), std::string::npos) << result.out;
  const std::string captions = file("c.json", R"({"images": [{"id": 1}, {"id": 2}], "annotations": [
      {"id": 1, "image_id": 1, "caption": "A red disc!"}, {"id": 2, "image_id": 2, "caption": "a dog"}]})");
  const Outcome words =
      score("captions", captions, file("r.json", R"([{"image_id": 1, "caption": "a red disc"}])"), "");
  EXPECT_EQ(words.code, 0) << words.err;
  EXPECT_NE(words.out.find("BLEU-1   1.000\n"), std::string::npos) << words.out;
  EXPECT_NE(words.out.find("ROUGE-L  1.000\nCIDEr    0.000\n"), std::string::npos) << words.out;
  EXPECT_NE(words.err.find("no caption for 1 of the 2 images"), std::string::npos) << words.err;
}

TEST_F(ImageCommands, BadDetectionsAreNamed) {
  const std::string truth = file("truth.json", kTruth);
  const auto run = [&](const std::string& results) { return score("coco", truth, file("results.json", results)); };
  const std::string fine = R"({"image_id": 1, "category_id": 4, "bbox": [0, 0, 1, 1], "score": 0.5}, )";
  const auto second = [&](const std::string& entry) { return run("[" + fine + entry + "]"); };
  expect_error(second(R"({"image_id": 1, "category_id": 4, "bbox": [0, 0, 1, 1]})"),
               {"results.json, detection 1 has no \"score\""});
  expect_error(second(R"({"image_id": 1, "category_id": 4, "bbox": [0, 0, 1, 1], "score": NaN})"),
               {"results.json, detection 1", "NaN"});
  expect_error(second(R"({"image_id": 1, "category_id": 4, "bbox": [0, -Infinity, 1, 1], "score": 1})"),
               {"results.json, detection 1", "Infinity"});
  expect_error(second(R"({"image_id": 1, "category_id": 4, "bbox": [0, 0, 1, 1], "score": "0.5"})"),
               {"detection 1: \"score\" must be a number, not a string"});
  expect_error(second(R"({"image_id": 1, "category_id": 4, "bbox": [0, 0, 1], "score": 1})"), {"not a list of 3"});
  expect_error(second(R"({"image_id": 1, "category_id": 4, "bbox": [0, 0, 1, null], "score": 1})"), {"\"bbox\""});
  expect_error(second(R"({"image_id": 9, "category_id": 4, "bbox": [0, 0, 1, 1], "score": 1})"),
               {"detection 1: \"image_id\" is 9, but the ground truth has no such id"});
  expect_error(second(R"({"image_id": 1.5, "category_id": 4, "bbox": [0, 0, 1, 1], "score": 1})"), {"whole number"});
  expect_error(second("7"), {"detection 1 is a number, not an object"});
  expect_error(run("{}"), {"results.json: results are a list of detections, not an object"});
  expect_error(run("[{]"), {"results.json"});
  expect_error(score("coco", truth, (folder_ / "none").string()), {"none"});
  const Outcome other = second(R"({"image_id": 1, "category_id": 77, "bbox": [0, 0, 1, 1], "score": 1})");
  EXPECT_EQ(other.code, 0);
  EXPECT_NE(other.err.find("1 of 2 detections"), std::string::npos) << other.err;
}

TEST_F(ImageCommands, BadGroundTruthIsNamed) {
  const std::string results = file("results.json", "[]");
  const auto run = [&](const std::string& truth) { return score("coco", file("truth.json", truth), results); };
  expect_error(run("[]"), {"truth.json: it is a list"});
  expect_error(run(R"({"images": []})"), {"truth.json: it has no \"categories\""});
  expect_error(run(R"({"images": {}, "categories": [], "annotations": []})"), {"\"images\" must be a list"});
  const auto with = [&](const std::string& annotation) {
    return run(R"({"images": [{"id": 1}], "categories": [{"id": 4}], "annotations": [)" + annotation + "]}");
  };
  const std::string start = R"({"id": 3, "image_id": 1, "category_id": 4, "bbox": [0, 0, 1, 1], )";
  expect_error(with(start + R"("iscrowd": 0})"), {"truth.json, annotation 0 has no \"area\""});
  expect_error(with(start + R"("area": 1, "iscrowd": 2})"), {"\"iscrowd\" must be 0 or 1, not 2"});
  expect_error(with(start + R"("area": 1}, )" + start + R"("area": 1})"), {"annotation 1", "\"id\" 3"});
  expect_error(with(R"({"id": 3, "image_id": 2, "category_id": 4, "bbox": [0, 0, 1, 1], "area": 1})"),
               {"annotation 0: \"image_id\" is 2"});
  expect_error(with(R"({"id": 3, "image_id": 1, "category_id": 6, "bbox": [0, 0, 1, 1], "area": 1})"),
               {"annotation 0: \"category_id\" is 6"});
  EXPECT_EQ(with(start + R"("area": 1})").code, 0);
}

TEST_F(ImageCommands, BadCaptionsAreNamed) {
  const std::string truth = file("truth.json", R"({"images": [{"id": 1}, {"id": 2}], "annotations": [
      {"id": 1, "image_id": 1, "caption": "a red disc"}]})");
  const auto run = [&](const std::string& results) { return score("captions", truth, file("results.json", results)); };
  expect_error(run("[]"), {"results.json: it has no captions"});
  expect_error(run(R"([{"image_id": 1}])"), {"results.json, caption 0 has no \"caption\""});
  expect_error(run(R"([{"image_id": 1, "caption": ["a"]}])"), {"must be a string, not a list"});
  expect_error(run(R"([{"image_id": 3, "caption": "a"}])"), {"caption 0: \"image_id\" is 3"});
  expect_error(run(R"([{"image_id": 2, "caption": "a"}])"), {"no caption of image 2"});
  expect_error(run(R"([{"image_id": 1, "caption": "a"}, {"image_id": 1, "caption": "b"}])"), {"caption 1", "already"});
}

TEST_F(ImageCommands, MetricsOfImagesAndOfTextDoNotMix) {
  expect_error(test::run_attend({"score", "--metric", "coco"}), {"--ground-truth"});
  expect_error(test::run_attend({"score", "--metric", "bleu", "coco", "--ground-truth", "a", "--predictions", "b"}),
               {"coco goes alone"});
  expect_error(test::run_attend({"score", "--metric", "captions", "--ground-truth", "a"}), {"--predictions"});
  expect_error(test::run_attend({"score", "--hypotheses", "a", "--references", "b", "--predictions", "c"}),
               {"--metric coco"});
  expect_error(test::run_attend({"score", "--hypotheses", "a"}), {"--references"});
}

TEST_F(ImageCommands, MadeScenesScoreFullMarksAgainstThemselves) {
  const std::string set = (folder_ / "set").string();
  const Outcome made = test::run_attend({"make-data", "scenes", "--out", set, "--count", "4", "--unseen", "20",
                                         "--size", "64", "--objects", "3", "--seed", "7"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.out.find("24 images"), std::string::npos) << made.out;
  Json boxes = Json::array(), captions = Json::array();
  const Json instances = read_json(set + "/instances_valid.json"), texts = read_json(set + "/captions_valid.json");
  for (const Json& object : instances.at("annotations"))
    boxes.push_back({{"image_id", object.at("image_id")},
                     {"category_id", object.at("category_id")},
                     {"bbox", object.at("bbox")},
                     {"score", 0.9}});
  std::int64_t last = 0;
  for (const Json& caption : texts.at("annotations")) {
    if (caption.at("image_id").get<std::int64_t>() == last) continue;
    last = caption.at("image_id").get<std::int64_t>();
    captions.push_back({{"image_id", last}, {"caption", caption.at("caption")}});
  }
  const Outcome found = score("coco", set + "/instances_valid.json", file("boxes.json", boxes.dump()));
  EXPECT_NEAR(parse_json(found.out, "output").at("stats")[0].get<double>(), 1, 1e-9) << found.err;
  const Outcome said = score("captions", set + "/captions_valid.json", file("captions.json", captions.dump()));
  EXPECT_NEAR(parse_json(said.out, "output").at("bleu")[3].get<double>(), 1, 1e-9) << said.err;

  expect_error(test::run_attend({"make-data", "scenes", "--out", set, "--count", "1"}), {"already"});
  expect_error(test::run_attend({"make-data", "faces", "--out", set + "2"}), {"faces"});
  expect_error(test::run_attend({"make-data", "scenes"}), {"--out"});
  expect_error(test::run_attend({"make-data", "scenes", "--out", set + "2", "--size", "4"}), {"--size"});
}

TEST_F(ImageCommands, MadeTextsAreLinesOfTwoFiles) {
  const std::string set = (folder_ / "dates").string();
  const Outcome made = test::run_attend({"make-data", "dates", "--out", set, "--count", "50", "--unseen", "10"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.out.find("50 pairs to learn from, 10 to validate and 10 to test with"), std::string::npos) << made.out;
  for (const auto& [name, lines] : {std::pair{"train", 50}, {"valid", 10}, {"test", 10}})
    for (const char* side : {".src", ".tgt"}) {
      const std::string text = read_file(set + "/" + name + side);
      EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), lines) << name << side;
    }
  expect_error(test::run_attend({"make-data", "dates", "--out", set}), {"already"});
  expect_error(test::run_attend({"make-data", "dates", "--out", set + "2", "--size", "64"}), {"for scenes"});
  expect_error(test::run_attend({"make-data", "dates", "--out", set + "2", "--unseen", "0"}), {"1 to", "not 0"});
}

TEST_F(ImageCommands, HelpShowsDefaultsAndExamples) {
  const std::string make = test::run_attend({"make-data", "--help"}).out;
  for (const char* part : {"Examples:", "--count", "20000", "--unseen", "1000", "128", "--seed", "--format", "png"})
    EXPECT_NE(make.find(part), std::string::npos) << part;
  const std::string help = test::run_attend({"score", "--help"}).out;
  for (const char* part : {"--metric coco", "--metric captions", "--ground-truth", "--predictions"})
    EXPECT_NE(help.find(part), std::string::npos) << part;
}

class ImageModelCommands : public ImageCommands {
 protected:
  ImageModelCommands() {
    for (const char* name : {"config.json", "model.safetensors"})
      write_file(folder_ / "vit" / name, read_file(fs::path("tests/fixtures/data/vit") / name));
    write_file(folder_ / "vit" / "preprocessor_config.json",
               R"({"image_processor_type": "ViTImageProcessor", "size": {"height": 32, "width": 32}})");
    for (int i = 0; i < 3; ++i) {
      image::Image image(40 + i, 30);
      for (std::size_t p = 0; p < image.pixels.size(); ++p)
        image.pixels[p] = static_cast<std::uint8_t>(p * static_cast<std::size_t>(7 * i + 3));
      write_file(folder_ / "images" / (std::to_string(i) + ".png"), image::encode_png(image));
    }
  }
  std::string model() const { return (folder_ / "vit").string(); }
  std::string images() const { return (folder_ / "images").string(); }
};

TEST_F(ImageModelCommands, ClassifyGivesEveryImageOfAFolderItsLabels) {
  const Outcome result = test::run_attend({"classify", "--model", model(), "--top-k", "0", "--json", images()});
  ASSERT_EQ(result.code, 0) << result.err;
  std::istringstream lines(result.out);
  std::string line;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(std::getline(lines, line));
    const Json json = parse_json(line, "output");
    EXPECT_EQ(json.at("file").text(), images() + "/" + std::to_string(i) + ".png");
    ASSERT_EQ(json.at("labels").size(), 5u);
    double sum = 0, before = 1;
    for (const Json& label : json.at("labels")) {
      const double probability = label.at("probability").get<double>();
      EXPECT_LE(probability, before);
      sum += before = probability;
    }
    EXPECT_NEAR(sum, 1, 1e-5);
  }
}

TEST_F(ImageModelCommands, ABatchAndOneAtATimeAgree) {
  const std::vector<std::string> all = {"embed", "--model", model(), images()};
  std::vector<std::string> single = all;
  single.insert(single.end(), {"--batch", "1"});
  EXPECT_EQ(test::run_attend(all).out, test::run_attend(single).out);
}

TEST_F(ImageModelCommands, ABrokenImageIsNamedAndTheOthersAreRead) {
  const std::string broken = file("images/1.png", "not an image");
  const Outcome result = test::run_attend({"classify", "--model", model(), images()});
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.err.find(broken), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("1 of 3 images"), std::string::npos) << result.err;
  EXPECT_NE(result.out.find("2.png"), std::string::npos) << result.out;
}

TEST_F(ImageModelCommands, LookWritesAImageOfEveryHead) {
  const std::string image = images() + "/0.png", png = (folder_ / "a.png").string();
  const std::string svg = (folder_ / "a.svg").string(), page = (folder_ / "a.html").string();
  const Outcome result =
      test::run_attend({"look", "--model", model(), "--image", image, "--png", png, "--svg", svg, "--export", page});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(read_file(png).substr(1, 3), "PNG");
  for (const char* part : {"0.png", "LABEL_", "attention rollout", "layer 3", "head 3"})
    EXPECT_NE(read_file(svg).find(part), std::string::npos) << part;
  EXPECT_NE(read_file(page).find("look/image_view"), std::string::npos);
  expect_error(test::run_attend({"look", "--model", model(), "--text", "a", "--png", png}), {"--image"});
  expect_error(test::run_attend({"look", "--model", model(), "--image", image}), {"--export"});
  expect_error(test::run_attend({"look", "--model", model(), "--png", png}), {"--image"});
  expect_error(test::run_attend({"look", "--image", image, "--png", png}), {"--text"});
  expect_error(test::run_attend({"look", "--model", model(), "--image", model() + "/config.json", "--png", png}),
               {"config.json"});
}

TEST_F(ImageModelCommands, ClassifyDrawsWhereItLooked) {
  const Outcome result = test::run_attend({"classify", "--model", model(), "--show-attention", images()});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out.find('\x1b'), std::string::npos);  // no terminal: plain characters
  EXPECT_NE(result.out.find("0.png\tLABEL_"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("attention rollout\n"), std::string::npos) << result.out;
  expect_error(test::run_attend({"classify", "--model", model(), "--show-attention", "--json", images()}), {"--json"});
}

TEST_F(ImageModelCommands, Int8KeepsTheLabelsOfConvolutionsToo) {
  const std::string small = (folder_ / "int8").string();
  ASSERT_EQ(test::run_attend({"convert", model(), "--dtype", "int8", "--out", small}).code, 0);
  const Outcome whole = test::run_attend({"embed", "--model", model(), images()});
  const Outcome rounded = test::run_attend({"embed", "--model", small, images()});
  ASSERT_EQ(rounded.code, 0) << rounded.err;
  const auto vector = [](const Outcome& result) {
    return parse_json(result.out.substr(0, result.out.find('\n')), "output").at("embedding");
  };
  const Json a = vector(whole), b = vector(rounded);
  ASSERT_EQ(a.size(), b.size());
  double dot = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = a[i].get<double>(), y = b[i].get<double>();
    dot += x * y, aa += x * x, bb += y * y;
  }
  EXPECT_GT(dot / std::sqrt(aa * bb), 0.98);
}

// What attend describe leaves for attend score is what attend evaluate computes.
TEST_F(ImageCommands, DescriptionsAreScoredAsTheyAreEvaluated) {
  const std::string set = (folder_ / "set").string(), truth = set + "/captions_valid.json",
                    found = (folder_ / "found.json").string();
  ASSERT_EQ(
      test::run_attend({"make-data", "scenes", "--out", set, "--count", "1", "--unseen", "3", "--size", "64"}).code, 0);
  const Outcome described =
      test::run_attend({"describe", "--model", "flickr8k", set + "/valid", "--images", truth, "--results", found});
  ASSERT_EQ(described.code, 0) << described.err;
  const Json scored = parse_json(score("captions", truth, found).out, "score");
  const Outcome judged = test::run_attend({"evaluate", "--model", "flickr8k", truth, "--json"});
  ASSERT_EQ(judged.code, 0) << judged.err;
  const Json evaluated = parse_json(judged.out, "evaluate");
  EXPECT_NEAR(scored.at("cider").get<double>(), evaluated.at("cider").get<double>(), 1e-9);
  EXPECT_NEAR(scored.at("rouge_l").get<double>(), evaluated.at("rouge_l").get<double>(), 1e-9);
  expect_error(test::run_attend({"describe", "--model", "flickr8k", set + "/train", "--images", truth}), {"--results"});
}

TEST_F(ImageCommands, DrawingsGoWhereTheyAreAskedTo) {
  const std::string png = (folder_ / "grid.png").string(), svg = (folder_ / "grid.svg").string(),
                    out = (folder_ / "out.png").string();
  const auto draw = [](std::vector<std::string> words) {
    words.insert(words.begin(), {"draw", "--model", "sagan-cifar10", "--class", "dog", "--count", "2"});
    return test::run_attend(words);
  };
  const Outcome drawn = draw({"--png", png, "--svg", svg, "--out", out, "--show"});
  ASSERT_EQ(drawn.code, 0) << drawn.err;
  EXPECT_EQ(read_file(png), read_file(out));
  EXPECT_NE(read_file(svg).find("<svg"), std::string::npos);
  EXPECT_EQ(drawn.out.find("dog"), 0u) << drawn.out;
  expect_error(draw({"--out", (folder_ / "grid.jpg").string()}), {"--out", ".png or .svg", "grid.jpg"});
  expect_error(draw({}), {"--png", "--show"});
  // A key that is not read would train another model than the one that is meant.
  expect_error(test::run_attend({"train", "--task", "draw", "--train", folder_.string(), "--out",
                                 (folder_ / "run").string(), "--config", R"({"noise_siz": 3})"}),
               {"noise_siz", "did you mean 'noise_size'"});
  EXPECT_FALSE(fs::exists(folder_ / "grid.jpg"));
}

}  // namespace
}  // namespace attend
