#include "attend/tasks/image_generator.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attend/base/error.h"
#include "attend/base/joined.h"
#include "attend/base/random.h"
#include "attend/catalogue/catalogue.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/checkpoint/model_file.h"
#include "attend/checkpoint/weight_files.h"
#include "attend/ops/arithmetic.h"

namespace attend::tasks {

namespace {

constexpr std::uint32_t kNoiseStream = 0x6e6f6973;  // no other stream of the seed has this number
constexpr std::size_t kBatch = 64;                  // drawings at once

models::SaganConfig config_in(const std::filesystem::path& folder) {
  const catalogue::ModelConfig model = catalogue::read_config(folder, catalogue::Task::draw);
  return models::sagan_config(model.json, model.path);
}

}  // namespace

std::vector<float> noise_row(std::uint64_t seed, std::uint64_t row, std::int64_t width) {
  const auto blocks = static_cast<std::uint64_t>((width + 3) / 4);
  std::vector<float> values;
  for (std::uint64_t block = 0; block < blocks; ++block) {
    const Random4 words = philox(seed, kNoiseStream, row * blocks + block);
    for (int i = 0; i < 4; i += 2) {  // Box & Muller 1958
      const double unit = (static_cast<double>(words.word[i]) + 1) / 4294967296.0;
      const double angle = 2 * std::numbers::pi * static_cast<double>(words.word[i + 1]) / 4294967296.0;
      const double radius = std::sqrt(-2 * std::log(unit));
      values.push_back(static_cast<float>(radius * std::cos(angle)));
      values.push_back(static_cast<float>(radius * std::sin(angle)));
    }
  }
  values.resize(static_cast<std::size_t>(width));
  return values;
}

std::vector<float> between(std::span<const float> a, std::span<const float> b, float share) {
  check(a.size() == b.size(), "drawing: noise of {} and of {}", a.size(), b.size());
  double dot = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    dot += x * y, aa += x * x, bb += y * y;
  }
  const double angle = std::acos(std::clamp(dot / std::max(std::sqrt(aa * bb), 1e-30), -1.0, 1.0));
  const double there = static_cast<double>(share), sine = std::sin(angle);
  const bool straight = sine < 1e-6;
  const double from = straight ? 1 - there : std::sin((1 - there) * angle) / sine,
               to = straight ? there : std::sin(there * angle) / sine;
  std::vector<float> result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    result[i] = static_cast<float>(from * static_cast<double>(a[i]) + to * static_cast<double>(b[i]));
  return result;
}

std::vector<image::Image> to_images(const Tensor& drawn) {
  const std::vector<float> values = download(drawn);
  const int height = static_cast<int>(drawn.dim(1)), width = static_cast<int>(drawn.dim(2));
  std::vector<image::Image> images;
  for (std::int64_t i = 0; i < drawn.dim(0); ++i) {
    image::Image image(width, height);
    const float* from = values.data() + static_cast<std::size_t>(i) * image.pixels.size();
    for (std::size_t j = 0; j < image.pixels.size(); ++j)
      image.pixels[j] = static_cast<std::uint8_t>(std::lround(std::clamp((from[j] + 1) * 127.5f, 0.0f, 255.0f)));
    images.push_back(std::move(image));
  }
  return images;
}

std::vector<image::Image> draw(const models::Sagan& model, Backend& backend, DType dtype,
                               std::span<const DrawingPlan> plans, Probe* probe) {
  check(!probe || plans.size() <= kBatch, "drawing: {} drawings, of which at most {} can be watched", plans.size(),
        kBatch);
  const models::SaganConfig& config = model.config();
  std::vector<image::Image> images;
  while (!plans.empty()) {
    const std::size_t count = std::min(kBatch, plans.size());
    std::vector<float> noise, classes;
    for (const DrawingPlan& plan : plans.first(count)) {
      noise.insert(noise.end(), plan.noise.begin(), plan.noise.end());
      classes.insert(classes.end(), plan.classes.begin(), plan.classes.end());
    }
    const auto rows = static_cast<std::int64_t>(count);
    const Tensor z = make_tensor(backend, {rows, config.noise_size}, dtype),
                 y = make_tensor(backend, {rows, config.classes()}, dtype);
    upload(z, noise), upload(y, classes);
    Pass pass(backend, {.probe = probe});
    for (image::Image& image : to_images(model.generator()(pass.input(z), pass.input(y))))
      images.push_back(std::move(image));
    plans = plans.subspan(count);
  }
  return images;
}

ImageGenerator::~ImageGenerator() = default;

ImageGenerator::ImageGenerator(const std::filesystem::path& folder, Backend& backend, DType dtype)
    : backend_(backend),
      dtype_(dtype),
      model_(config_in(folder)),
      parameters_(backend, model_.generator_parameters(),
                  checkpoint::run_options(folder, {dtype, nn::WeightForm::plain})) {
  checkpoint::load_part(checkpoint::open_weights(folder), parameters_,
                        std::string(models::Sagan::kDiscriminator) + ".");
}

std::size_t ImageGenerator::class_named(std::string_view name) const {
  const std::vector<std::string>& labels = model_.config().labels;
  const auto found = std::ranges::find(labels, name);
  check(found != labels.end(), "draw: the model knows no class '{}'; there are {}", name, joined(labels, ", "));
  return static_cast<std::size_t>(found - labels.begin());
}

DrawingPlan ImageGenerator::plan(std::size_t of_class, std::uint64_t seed, std::uint64_t row) const {
  const models::SaganConfig& config = model_.config();
  DrawingPlan plan{noise_row(seed, row, config.noise_size), std::vector<float>(config.labels.size())};
  plan.classes.at(of_class) = 1;
  return plan;
}

}  // namespace attend::tasks
