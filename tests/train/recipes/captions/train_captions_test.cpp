// attend train --task describe and attend describe as a user meets them: scenes with captions in, a model that writes
// about images out; resumed, started from a classifier, shown, and given what it cannot read.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/checkpoint/safetensors.h"
#include "attend/image/decode.h"
#include "attend/image/encode.h"
#include "tests/cli/run_attend.h"
#include "tests/train/recipes/folder_bytes.h"
#include "tests/train/recipes/images/toy_images.h"
#include "tests/train/recipes/slower.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWhere[] = {"an image in red", "an image in green", "an image in blue", "an image in white"};
constexpr const char* kAgain[] = {"red all over", "green all over", "blue all over", "white all over"};

// Of one colour, with noise.
image::Image coloured_image(int color, unsigned seed) {
  image::Image image(16, 16);
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    const bool bright = color == 3 || i % 3 == static_cast<std::size_t>(color);
    image.pixels[i] = static_cast<std::uint8_t>((bright ? 180 : 0) + (seed >> 26));
  }
  return image;
}

// Such images with two captions each, in COCO's form.
void write_toy_captions(const fs::path& folder) {
  for (const char* part : {"train", "valid"}) {
    const bool train = std::string(part) == "train";
    Json images = Json::array(), annotations = Json::array();
    for (int i = 0; i < (train ? 64 : 16); ++i) {
      const int color = i % 4;
      const std::string name = std::to_string(i) + ".png";
      write_file(folder / part / name,
                 image::encode_png(coloured_image(color, static_cast<unsigned>(train ? i : 1000 + i))));
      images.push_back({{"id", i + 1}, {"file_name", name}});
      for (const char* caption : {kWhere[color], kAgain[color]})
        annotations.push_back({{"image_id", i + 1}, {"id", annotations.size()}, {"caption", caption}});
    }
    write_file(folder / (std::string("captions_") + part + ".json"),
               Json({{"images", images}, {"annotations", annotations}}).dump());
  }
}

class TrainCaptions : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = scratch_folder("attend_train_captions");
    write_toy_captions(folder_ / "data");
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::vector<std::string> training(const std::string& out, const std::string& decoder,
                                    const std::vector<std::string>& more) const {
    const char* settings = decoder == "transformer"
                               ? R"({"width": 32, "heads": 2, "hidden": 64, "layers": 1, "dropout": 0})"
                           : decoder == "show-attend-tell"
                               ? R"({"width": 32, "hidden": 48, "attention": 32, "regularizer": 0.1, "dropout": 0})"
                               : R"({"width": 32, "hidden": 48, "dropout": 0})";
    std::vector<std::string> words = {"train",
                                      "--task",
                                      "describe",
                                      "--train",
                                      path("data/captions_train.json"),
                                      "--valid",
                                      path("data/captions_valid.json"),
                                      "--out",
                                      path(out),
                                      "--decoder",
                                      decoder,
                                      "--decoder-config",
                                      settings,
                                      "--model",
                                      "vit",
                                      "--image-size",
                                      "16",
                                      "--patch-size",
                                      "4",
                                      "--width",
                                      "16",
                                      "--heads",
                                      "2",
                                      "--layers",
                                      "2",
                                      "--dropout",
                                      "0",
                                      "--batch",
                                      "16",
                                      "--no-flip",
                                      "--crop",
                                      "none",
                                      "--mean",
                                      "0.5",
                                      "--std",
                                      "0.5",
                                      "--least-count",
                                      "2",
                                      "--learning-rate",
                                      "5e-3",
                                      "--max-length",
                                      "10",
                                      "--label-smoothing",
                                      "0"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // How many of the unseen images are described with the right colour.
  int right(const std::string& out) const {
    const Outcome result = run_attend({"describe", "--model", path(out), "--json", path("data/valid")});
    EXPECT_EQ(result.code, 0) << result.err;
    int count = 0;
    for (std::size_t at = 0; at < result.out.size();) {
      const std::size_t end = result.out.find('\n', at);
      const Json line = parse_json(result.out.substr(at, end - at), "output");
      at = end + 1;
      const std::string file = fs::path(line["file"].get<std::string>()).stem().string();
      const std::string caption = line["caption"].get<std::string>();
      const int color = std::stoi(file) % 4;
      count += caption == kWhere[color] || caption == kAgain[color];
    }
    return count;
  }

  fs::path folder_;
};

TEST_F(TrainCaptions, EveryDecoderLearnsColours) {
  for (const char* decoder : {"show-tell", "show-attend-tell", "transformer"}) {
    const Outcome trained = run_attend(
        training(decoder, decoder, {"--steps", steps_to_learn(120), "--validate-every", steps_to_learn(60)}));
    ASSERT_EQ(trained.code, 0) << trained.err;
    EXPECT_NE(trained.out.find("attend describe --model"), std::string::npos) << trained.out;
    EXPECT_NE(trained.err.find("64 images to learn from, 16 to validate on"), std::string::npos) << trained.err;
    EXPECT_NE(trained.err.find("CIDEr"), std::string::npos) << trained.err;
    EXPECT_GE(right(decoder), kLearns ? 14 : 0) << decoder;
    EXPECT_EQ(read_json(path(decoder) + "/config.json")["decoder"], decoder);
  }
}

TEST_F(TrainCaptions, AStoppedRunEndsWithTheSameBytes) {
  const std::vector<std::string> every = {"--validate-every", "10",    "--save-every",   "10", "--flip",
                                          "--crop",           "shift", "--crop-padding", "2"};
  const auto run = [&](const std::string& out, const char* steps) {
    std::vector<std::string> more = every;
    more.insert(more.end(), {"--steps", steps, "--schedule", "inverse-square-root", "--warmup", "5"});
    return training(out, "show-attend-tell", more);
  };
  ASSERT_EQ(run_attend(run("whole", "30")).code, 0);
  ASSERT_EQ(run_attend(run("parts", "10")).code, 0);
  const Outcome resumed = run_attend({"train", "--resume", "--out", path("parts"), "--steps", "30"});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_TRUE(read_file(folder_ / "whole/model.safetensors") == read_file(folder_ / "parts/model.safetensors"));
  const checkpoint::Safetensors whole = checkpoint::Safetensors::open(path("whole/state.safetensors")),
                                parts = checkpoint::Safetensors::open(path("parts/state.safetensors"));
  for (const checkpoint::StoredTensor& tensor : whole.tensors())
    EXPECT_TRUE(std::ranges::equal(tensor.bytes, parts[tensor.name].bytes)) << tensor.name;
}

TEST_F(TrainCaptions, AClassifierIsTheEncoderFrozenOrAtALowerRate) {
  write_toy_images(folder_ / "images");
  ASSERT_EQ(run_attend(toy_image_training(folder_ / "images", folder_ / "vit", {"--steps", "30"})).code, 0);
  const checkpoint::Safetensors before = checkpoint::Safetensors::open(path("vit/model.safetensors"));
  const std::string name = "encoder.layer.0.attention.output.dense.weight";
  const auto run = [&](const std::string& out, const char* rate) {
    std::vector<std::string> words =
        training(out, "show-attend-tell", {"--encoder", path("vit"), "--encoder-rate", rate, "--steps", "10"});
    return run_attend(words);
  };
  const Outcome frozen = run("frozen", "0"), tuned = run("tuned", "0.1");
  ASSERT_EQ(frozen.code, 0) << frozen.err;
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  EXPECT_NE(frozen.err.find("the encoder is from"), std::string::npos) << frozen.err;
  EXPECT_EQ(checkpoint::Safetensors::open(path("frozen/model.safetensors")).floats("encoder." + name),
            before.floats("vit." + name));
  EXPECT_NE(checkpoint::Safetensors::open(path("tuned/model.safetensors")).floats("encoder." + name),
            before.floats("vit." + name));
  const Outcome alone = run_attend(training("alone", "show-tell", {"--encoder-rate", "0"}));
  EXPECT_EQ(alone.code, 1);
  EXPECT_NE(alone.err.find("has to learn"), std::string::npos) << alone.err;
}

TEST_F(TrainCaptions, FlickrsFilesWithLists) {
  std::string tokens, train, valid;
  for (int i = 0; i < 64; ++i) {
    const std::string name = std::to_string(i) + ".png";
    tokens += name + "#0\t" + kWhere[i % 4] + " .\n" + name + "#1\t" + kAgain[i % 4] + " .\n";
    (i < 48 ? train : valid) += name + "\n";
  }
  write_file(folder_ / "data/text/token.txt", tokens + "999.png#0\tnothing\n");
  write_file(folder_ / "data/text/train.txt", train + "999.png\n");
  write_file(folder_ / "data/text/valid.txt", valid);
  const std::string text = path("data/text/token.txt");
  const Outcome trained = run_attend(
      training("flickr", "show-tell",
               {"--train", text, "--train-names", path("data/text/train.txt"), "--valid", text, "--valid-names",
                path("data/text/valid.txt"), "--test", text, "--test-names", path("data/text/valid.txt"), "--images",
                path("data/train"), "--steps", "5", "--select", "bleu"}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.err.find("48 images to learn from, 16 to validate on"), std::string::npos) << trained.err;
  EXPECT_NE(trained.err.find("1 that are not there"), std::string::npos) << trained.err;
  const Json evaluated = read_json(path("flickr/test.json"));
  EXPECT_EQ(evaluated["images"], 16);
  EXPECT_GE(evaluated["beams_4"]["cider"].get<double>(), 0.0);
}

TEST_F(TrainCaptions, WhereItLookedIsShown) {
  ASSERT_EQ(run_attend(training("model", "show-attend-tell", {"--steps", "20"})).code, 0);
  const std::string image = path("data/valid/3.png");
  const Outcome shown = run_attend({"describe", "--model", path("model"), image, "--show-attention", "--png",
                                    path("figure.png"), "--svg", path("figure.svg")});
  ASSERT_EQ(shown.code, 0) << shown.err;
  EXPECT_NE(shown.out.find("</s>"), std::string::npos) << shown.out;
  EXPECT_GT(image::read_image(path("figure.png")).width, 100);
  EXPECT_NE(read_file(folder_ / "figure.svg").find("<svg"), std::string::npos);
  const Outcome json = run_attend({"describe", "--model", path("model"), image, "--show-attention", "--json"});
  const Json line = parse_json(json.out, "output");
  const std::size_t count = line["tokens"].size();
  EXPECT_EQ(line["grid"][0], 4);
  ASSERT_EQ(line["looks"].size(), 16 * count);
  for (std::size_t t = 0; t < count; ++t) {
    double sum = 0;
    for (std::size_t i = 0; i < 16; ++i) sum += line["looks"][t * 16 + i].get<double>();
    EXPECT_NEAR(sum, 1, 1e-4);
  }
  // Draws depend on the seed and the place of the image alone.
  const auto drawn = [&](const char* batch) {
    return run_attend(
               {"describe", "--model", path("model"), path("data/valid"), "--sample", "--seed", "5", "--batch", batch})
        .out;
  };
  EXPECT_EQ(drawn("16"), drawn("3"));
}

TEST_F(TrainCaptions, BadInputIsNamed) {
  ASSERT_EQ(run_attend(training("model", "show-tell", {"--steps", "2"})).code, 0);
  const auto fails = [&](const std::vector<std::string>& words, const std::string& with) {
    const Outcome result = run_attend(words);
    EXPECT_EQ(result.code, 1) << with;
    EXPECT_NE(result.err.find(with), std::string::npos) << result.err;
  };
  fails({"describe", "--model", path("model")}, "no images");
  fails({"describe", "--model", path("model"), path("data/valid/1.png"), "--show-attention"}, "no attention to show");
  fails({"describe", "--model", path("nothing"), path("data/valid/1.png")}, "no folder");
  fails({"describe", "--model", "tests/fixtures/data/vit", path("data/valid/1.png")}, "use attend");
  fails({"classify", "--model", path("model"), path("data/valid/1.png")}, "describe");
  write_file(folder_ / "broken.png", "no image");
  const Outcome some = run_attend({"describe", "--model", path("model"), path("broken.png"), path("data/valid/1.png")});
  EXPECT_EQ(some.code, 1);
  EXPECT_NE(some.out.find("1.png\t"), std::string::npos) << some.out;
  fails(training("no", "show-tell", {"--mixup", "0.2"}), "a caption is about one image");
  fails(training("no", "show-tell", {"--decoder-config", R"({"gate": "scalar"})"}), "gate");
  fails(training("no", "show-attend-tell", {"--decoder-config", R"({"gate": "both"})"}), "scalar, vector and none");
  fails(training("no", "lstm", {}), "show-attend-tell");
  fails(training("no", "show-tell", {"--train", path("data/valid")}), "data/valid");
  write_file(folder_ / "data/odd.json",
             R"({"images": [{"id": 1, "file_name": "0.png"}], "annotations": [{"image_id": 2, "caption": "x"}]})");
  fails(training("no", "show-tell", {"--train", path("data/odd.json")}), "image 2, which is not among the images");
  write_file(folder_ / "data/text.txt", "0.png and no tab\n");
  fails(training("no", "show-tell", {"--train", path("data/text.txt")}), "line 1");
  EXPECT_FALSE(fs::exists(folder_ / "no"));
}

}  // namespace
}  // namespace attend::test
