// attend look with a model that draws: drawings, walks and attention are what the model makes by itself, a second model
// stands beside it, and what makes no sense is refused.
#include "attend/look/inspect/drawing.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/checkpoint/model_file.h"
#include "attend/look/api/api.h"
#include "attend/look/api/drawing_api.h"
#include "attend/look/inspect/image_json.h"
#include "attend/look/inspect/open.h"
#include "attend/models/sagan.h"
#include "tests/tensor/tensors.h"

namespace attend::look {
namespace {

namespace fs = std::filesystem;
using test::cpu;

models::SaganConfig small_config(std::int64_t attention, std::vector<std::string> labels) {
  models::SaganConfig config;
  config.noise_size = 8, config.generator_widths = {16, 16, 16}, config.discriminator_widths = {8, 8};
  config.attention_stage = attention, config.labels = std::move(labels);
  return config;
}

class LookDrawings : public testing::Test {
 protected:
  LookDrawings() : folder_(fs::temp_directory_path() / ("attend_look_drawings_" + std::to_string(getpid()))) {}
  ~LookDrawings() override { fs::remove_all(folder_); }

  // A folder with random weights; classes differ.
  fs::path folder(const std::string& name, std::int64_t attention, std::vector<std::string> labels = {"cat", "dog"}) {
    models::Sagan model(small_config(attention, std::move(labels)));
    nn::Parameters parameters(cpu(), model, {.trained = false});
    for (const nn::Parameters::Entry& entry : parameters.entries())
      if (entry.name.ends_with("shift.weight")) {
        std::vector<float> values = parameters.read(entry);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 5) * 0.3f - 0.6f;
        parameters.write(entry, values);
      }
    const fs::path at = folder_ / name;
    write_file(at / "config.json", models::sagan_json(model.config()).dump());
    checkpoint::save_weights((at / "model.safetensors").string(), parameters);
    return at;
  }

  fs::path folder_;
};

TEST_F(LookDrawings, ShowsWhatTheModelDraws) {
  const fs::path place = folder("one", 1);
  EXPECT_NE(open_model(place, cpu(), DType::f32).drawings, nullptr);
  const DrawingInspector inspector(place, cpu(), DType::f32);
  const tasks::ImageGenerator drawer(place, cpu());
  const auto address = [&](std::size_t of_class, std::uint64_t seed, std::uint64_t row) {
    const tasks::DrawingPlan plan = drawer.plan(of_class, seed, row);
    return image_address(drawer.draw({&plan, 1})[0]);
  };
  DrawingApi drawings(inspector, {});
  Api api({.drawings = &drawings}, {.name = "one"});
  const auto ask = [&](const Json& request) { return parse_json(api.inspect(request), "answer"); };

  const Json model = api.model();
  EXPECT_EQ(model.at("kind"), "drawing");
  EXPECT_EQ(model.at("classes"), Json::array({"cat", "dog"}));
  EXPECT_EQ(model.at("attention")[0].at("queries"), Json::array({8, 8}));

  const Json grid = ask({{"what", "grid"}, {"seed", 7}, {"columns", 3}}).at("drawings");
  ASSERT_EQ(grid.size(), 2u);
  ASSERT_EQ(grid[1].size(), 3u);
  EXPECT_EQ(grid[1][2], address(1, 7, 2));
  EXPECT_NE(grid[0][2], grid[1][2]);

  const Json one = ask({{"class", 1}, {"seed", 7}, {"row", 2}});
  EXPECT_EQ(one.at("seen"), grid[1][2]);
  EXPECT_EQ(one.at("text"), "dog");
  EXPECT_EQ(one.at("attention")[0].at("rows"), 64);
  EXPECT_EQ(one.at("attention")[0].at("columns"), 16);
  for (const ImageAttention& seen : inspector.inspect({.of_class = 1, .seed = 7, .row = 2}).attention)
    for (std::int64_t row = 0; row < seen.rows; ++row) {
      float sum = 0;
      for (std::int64_t column = 0; column < seen.columns; ++column) sum += seen.weight(0, 0, row, column);
      EXPECT_NEAR(sum, 1, 1e-5f);
    }

  const Json walk =
      ask({{"what", "walk"}, {"class", 0}, {"seed", 1}, {"to_class", 1}, {"to_seed", 2}, {"frames", 5}}).at("drawings");
  ASSERT_EQ(walk.size(), 5u);
  EXPECT_EQ(walk[0], address(0, 1, 0));
  EXPECT_EQ(walk[4], address(1, 2, 0));
  EXPECT_NE(walk[2], walk[0]);

  for (const Json& wrong : {Json{{"class", 2}}, Json{{"class", -1}}, Json{{"seed", -1}}, Json{{"what", "film"}},
                            Json{{"what", "grid"}, {"columns", 1000}}, Json{{"what", "walk"}, {"frames", 0}},
                            Json{{"beside", 1}}, Json{{"class", "cat"}}})
    EXPECT_THROW(ask(wrong), Error) << wrong.dump();
}

TEST_F(LookDrawings, ASecondModelStandsBesideIt) {
  const DrawingInspector with(folder("with", 1), cpu(), DType::f32), without(folder("without", 0), cpu(), DType::f32),
      other(folder("other", 0, {"dog", "cat"}), cpu(), DType::f32);
  const DrawingApi both(with, {&without, "without"});
  EXPECT_EQ(both.model().at("beside"), "without");
  const Json request = {{"class", 0}, {"seed", 3}, {"beside", 1}};
  EXPECT_TRUE(both.inspect(request).at("attention").empty());
  EXPECT_THROW(DrawingApi(with, {&other, "other"}), Error);
}

}  // namespace
}  // namespace attend::look
