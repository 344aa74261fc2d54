// What problem_type makes of an image classifier's logits is the same wherever it is asked: by the command, by the
// server and in C.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/c.h"
#include "attend/checkpoint/safetensors.h"
#include "attend/checkpoint/safetensors_writer.h"
#include "attend/image/encode.h"
#include "tests/cli/run_attend.h"
#include "tests/serve/serving_house.h"

namespace attend::serve {
namespace {

namespace fs = std::filesystem;

image::Image spotted() {
  image::Image image(70, 50);
  for (std::size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<std::uint8_t>(i * 13 % 240);
  return image;
}

class ImageProblems : public testing::Test {
 protected:
  ~ImageProblems() override { fs::remove_all(folder_); }

  // The fixture's ResNet with so many of its labels.
  void write(std::int64_t labels, const Json& problem) const {
    const fs::path from = "tests/fixtures/data/resnet";
    const checkpoint::Safetensors file = checkpoint::Safetensors::open((from / "model.safetensors").string());
    checkpoint::SafetensorsWriter writer;
    for (const checkpoint::StoredTensor& tensor : file.tensors()) {
      Shape shape = tensor.shape;
      if (tensor.name.starts_with("classifier.")) shape.set(0, labels);
      const std::size_t bytes =
          tensor.bytes.size() / static_cast<std::size_t>(std::max<std::int64_t>(tensor.shape.size(), 1));
      writer.add(tensor.name, tensor.type, shape, tensor.bytes.first(bytes * static_cast<std::size_t>(shape.size())));
    }
    Json config = read_json(from / "config.json"), names = Json::object();
    for (std::int64_t i = 0; i < labels; ++i) names[std::to_string(i)] = "name " + std::to_string(i);
    config["id2label"] = names, config["problem_type"] = problem;
    fs::create_directories(folder_);
    writer.write((folder_ / "model.safetensors").string());
    write_file(folder_ / "config.json", config.dump());
    write_file(folder_ / "preprocessor_config.json",
               R"({"image_processor_type": "ConvNextImageProcessor", "size": {"shortest_edge": 64}})");
    write_file(folder_ / "spots.png", image::encode_png(spotted()));
  }

  Json command(const std::string& flag) const {
    const test::Outcome said = test::run_attend(
        {"classify", "--model", folder_.string(), "--top-k", "0", flag, (folder_ / "spots.png").string()});
    EXPECT_EQ(said.code, 0) << said.err;
    return parse_json(said.out, "output");
  }
  Json served() const {
    House house({}, {});
    house.models.open("resnet", folder_);
    const test::Answered answer =
        test::ask(house.port(), test::post_text("/models/resnet", image::encode_png(spotted()), "image/png"));
    EXPECT_EQ(answer.status, 200) << answer.body;
    return answer.json();
  }
  std::vector<attend_item> in_c() const {
    attend_model* model = nullptr;
    attend_results* results = nullptr;
    EXPECT_EQ(attend_open(folder_.string().c_str(), nullptr, &model), ATTEND_OK) << attend_message();
    const image::Image image = spotted();
    attend_tensor tensor = {};
    tensor.data = const_cast<std::uint8_t*>(image.pixels.data()), tensor.rank = 3, tensor.dtype = ATTEND_U8;
    tensor.shape[0] = image.height, tensor.shape[1] = image.width, tensor.shape[2] = 3;
    attend_options options = {};
    options.size = sizeof options;
    EXPECT_EQ(attend_see(model, &tensor, 1, &options, &results), ATTEND_OK) << attend_message();
    std::vector<attend_item> items(attend_results_count(results, 0));
    for (std::size_t i = 0; i < items.size(); ++i) {
      items[i].size = sizeof items[i];
      EXPECT_EQ(attend_results_item(results, 0, i, &items[i]), ATTEND_OK);
    }
    attend_results_free(&results), attend_close(&model);
    return items;
  }

  const fs::path folder_ = fs::temp_directory_path() / ("attend_image_problems_" + std::to_string(getpid()));
};

TEST_F(ImageProblems, OneNumber) {
  write(1, "regression");
  const double number = command("--json").at("score").get<double>();
  EXPECT_NE(number, 0);
  const std::vector<attend_item> items = in_c();
  ASSERT_EQ(items.size(), 1u);
  EXPECT_NEAR(items[0].score, number, 1e-5);
  if (http::has_http_server()) {
    const Json list = served();
    ASSERT_EQ(list.size(), 1u);
    EXPECT_EQ(list.front().at("label").text(), "name 0");
    EXPECT_NEAR(list.front().at("score").get<double>(), number, 1e-5);
  }
  // Without a problem_type a model with one label gives its sigmoid.
  write(1, nullptr);
  EXPECT_NEAR(command("--json").at("labels").front().at("probability").get<double>(), 1 / (1 + std::exp(-number)),
              1e-6);
}

TEST_F(ImageProblems, EveryLabelByItself) {
  write(5, "multi_label_classification");
  const Json labels = command("--json").at("labels");
  ASSERT_EQ(labels.size(), 5u);
  double sum = 0;
  for (const Json& label : labels) sum += label.at("probability").get<double>();
  EXPECT_GT(std::abs(sum - 1), 0.1);
  const std::vector<attend_item> items = in_c();
  const Json list = http::has_http_server() ? served() : Json();
  ASSERT_EQ(items.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) {
    const double probability = labels.at(i).at("probability").get<double>();
    EXPECT_NEAR(items[i].score, probability, 1e-5);
    if (!list.is_array()) continue;
    EXPECT_NEAR(list.at(i).at("score").get<double>(), probability, 1e-5);
  }
}

}  // namespace
}  // namespace attend::serve
