// attend train --look where things are found in images, or written about them: watching changes nothing, the same
// images come again at every stop, and the page of the model that is left says what its commands say.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/checkpoint/safetensors.h"
#include "attend/image/decode.h"
#include "attend/look/api/api.h"
#include "attend/look/api/caption_api.h"
#include "attend/look/api/run_reader.h"
#include "attend/look/inspect/caption.h"
#include "attend/view/figure.h"
#include "tests/cli/run_attend.h"
#include "tests/tensor/tensors.h"
#include "tests/train/recipes/detection/toy_scenes.h"
#include "tests/train/recipes/folder_bytes.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;

class LookScenes : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = scratch_folder("attend_look_scenes");
    write_toy_scenes(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::vector<std::string> describing(const std::string& out, const std::string& decoder) const {
    return {"train",
            "--task",
            "describe",
            "--train",
            path("captions_train.json"),
            "--valid",
            path("captions_valid.json"),
            "--out",
            path(out),
            "--decoder",
            decoder,
            "--decoder-config",
            decoder == "transformer" ? R"({"width": 16, "heads": 2, "hidden": 32, "layers": 2})"
                                     : R"({"width": 16, "hidden": 24})",
            "--model",
            "vit",
            "--image-size",
            "32",
            "--patch-size",
            "8",
            "--width",
            "16",
            "--heads",
            "2",
            "--layers",
            "1",
            "--batch",
            "8",
            "--no-flip",
            "--crop",
            "none",
            "--max-length",
            "12"};
  }
  void train(std::vector<std::string> words, const std::vector<std::string>& more) const {
    words.insert(words.end(), more.begin(), more.end());
    for (const char* word : {"--validate-every", "5", "--schedule", "inverse-square-root", "--warmup", "5"})
      words.emplace_back(word);
    const Outcome outcome = run_attend(words);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }
  std::vector<float> masters(const std::string& out) const {
    return checkpoint::Safetensors::open(path(out + "/state.safetensors")).floats("master");
  }
  Json looks(const std::string& out) const { return look::RunReader(folder_ / out).lines({})["look"]; }

  fs::path folder_;
};

TEST_F(LookScenes, ADetectorShowsItsMatching) {
  const auto words = [&](const std::string& out) { return toy_detr(toy_detect_training(folder_, path(out))); };
  train(words("plain"), {"--steps", "10"});
  train(words("watched"), {"--steps", "10", "--look", "--port", "0"});
  EXPECT_EQ(masters("watched"), masters("plain"));
  const Json looks = this->looks("watched");
  EXPECT_EQ(looks.front()["step"], 0);
  EXPECT_EQ(looks.back()["step"], 10);
  const Json &first = looks.front()["examples"], &last = looks.back()["examples"];
  ASSERT_EQ(first.size(), 3u);
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i]["seen"], last[i]["seen"]);
    ASSERT_EQ(first[i]["truth"].size(), last[i]["truth"].size());
    // Every object has a query of its own, and that query's answer is there to be seen.
    std::set<std::int64_t> queries;
    for (const Json& truth : last[i]["truth"]) {
      const auto query = truth["query"].get<std::int64_t>();
      EXPECT_TRUE(queries.insert(query).second);
      bool answered = false;
      for (const Json& box : last[i]["boxes"]) answered = answered || box["query"] == query;
      EXPECT_TRUE(answered) << query;
    }
    EXPECT_GE(queries.size(), 1u);
  }
  EXPECT_NE(first[0]["boxes"], last[0]["boxes"]);
}

TEST_F(LookScenes, ACaptionerShowsItsSentences) {
  for (const char* decoder : {"show-attend-tell", "show-tell"}) {
    const std::string name = decoder, plain = name + "-plain";
    train(describing(plain, decoder), {"--steps", "10"});
    train(describing(name, decoder), {"--steps", "10", "--look", "--port", "0"});
    EXPECT_EQ(masters(name), masters(plain));
    const Json looks = this->looks(name);
    const Json &first = looks.front()["examples"], &last = looks.back()["examples"];
    ASSERT_EQ(last.size(), 3u);
    for (std::size_t i = 0; i < last.size(); ++i) {
      EXPECT_EQ(first[i]["seen"], last[i]["seen"]);
      EXPECT_FALSE(last[i]["target"]["text"].text().empty());
      EXPECT_EQ(last[i]["attention"].size(), name == "show-tell" ? 0u : 1u);
      EXPECT_GE(last[i]["tokens"].size(), 1u);
    }
    // The last image has the sentence of the model that is left.
    EXPECT_EQ(looks.back()["step"], 10);
  }
}

// What the page shows of a sentence: probabilities that are a model's, and rows of attention that are whole.
TEST_F(LookScenes, ThePageSaysWhatDescribeSays) {
  const std::string image = path("valid/000000000001.png");
  for (const char* decoder : {"show-tell", "show-attend-tell", "transformer"}) {
    train(describing(decoder, decoder), {"--steps", "12"});
    const Outcome said = run_attend({"describe", "--model", path(decoder), "--json", image});
    ASSERT_EQ(said.code, 0) << said.err;
    const auto loaded = tasks::load_describer(path(decoder), cpu());
    const look::CaptionInspection seen = look::inspect_caption(*loaded, loaded->prepare(image::read_image(image)));
    EXPECT_EQ(seen.text, parse_json(said.out, "said")["caption"].text());
    ASSERT_EQ(seen.steps.size(), seen.tokens.size());
    for (const look::InspectedStep& step : seen.steps) {
      EXPECT_GT(step.probability, 0);
      EXPECT_LE(step.probability, step.candidates.front().probability + 1e-6f);
    }
    if (decoder == std::string("show-tell")) {
      EXPECT_TRUE(seen.attention.empty());
      EXPECT_EQ(seen.start.size(), 16u);  // the image as a word
      EXPECT_THROW(look::caption_page(seen), Error);
      continue;
    }
    EXPECT_TRUE(seen.start.empty());
    EXPECT_EQ(seen.attention.size(), decoder == std::string("transformer") ? 2u : 1u);
    for (const look::SeenAttention& layer : seen.attention)
      for (std::size_t row = 0; row < static_cast<std::size_t>(layer.heads) * layer.rows; ++row) {
        double sum = 0;
        for (std::size_t i = 0; i < layer.columns; ++i)
          sum += static_cast<double>(layer.weights[row * layer.columns + i]);
        EXPECT_NEAR(sum, 1, 1e-5);
      }
    EXPECT_EQ(look::caption_page(seen).pixels.size(), seen.tokens.size() + 1);
  }

  // Two of them about one image.
  const auto without = tasks::load_describer(path("show-tell"), cpu()),
             with = tasks::load_describer(path("show-attend-tell"), cpu());
  look::CaptionApi images({*without, "show-tell"}, look::CaptionApi::Named{*with, "show-attend-tell"});
  look::Api api({.images = &images}, {.name = "show-tell"});
  const Json model = api.model();
  EXPECT_EQ(model["kind"], "caption");
  EXPECT_EQ(model["attention"].size(), 0u);
  EXPECT_EQ(model["beside"]["name"], "show-attend-tell");
  EXPECT_EQ(model["beside"]["attention"][0]["heads"], 1);
  const std::string name = images.keep(read_file(image))["image"].text();
  const Json both = images.inspect({{"image", name}});
  EXPECT_EQ(both["start"].size(), 16u);
  EXPECT_EQ(both["beside"]["tokens"].size(), both["beside"]["steps"].size());
  EXPECT_THROW(images.inspect({{"image", name}, {"beams", 0}}), Error);
  EXPECT_THROW(images.inspect({{"image", "gone"}}), Error);
}

TEST_F(LookScenes, BesideIsForThoseThatWrite) {
  train(toy_detr(toy_detect_training(folder_, path("detr"))), {"--steps", "2"});
  const std::string image = path("valid/000000000001.png");
  const Outcome refused =
      run_attend({"look", "--model", path("detr"), "--beside", path("detr"), "--image", image, "--png", path("a.png")});
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("--beside"), std::string::npos) << refused.err;
  const Outcome drawn = run_attend({"look", "--model", path("detr"), "--image", image, "--png", path("a.png"),
                                    "--export", path("a.html"), "--svg", path("a.svg")});
  EXPECT_EQ(drawn.code, 0) << drawn.err;
  EXPECT_GT(image::read_image(path("a.png")).width, 300);
  EXPECT_NE(read_file(path("a.html")).find("\"detection\""), std::string::npos);
}

}  // namespace
}  // namespace attend::test
