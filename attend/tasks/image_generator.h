// A generator with its folder: noise and a class in, an image out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attend/image/image.h"
#include "attend/models/sagan.h"
#include "attend/nn/parameters.h"
#include "attend/tasks/results.h"
#include "attend/view/collector.h"

namespace attend::tasks {

// Row number `row` of a seed's endless table of standard normal numbers, `width` to a row.
std::vector<float> noise_row(std::uint64_t seed, std::uint64_t row, std::int64_t width);
// From a to b on the sphere around 0, as noise lies on one: share 0 is a, 1 is b.
std::vector<float> between(std::span<const float> a, std::span<const float> b, float share);

// Drawings of [B, H, W, 3], between -1 and 1, as pixels.
std::vector<image::Image> to_images(const Tensor& drawn);

// The drawings of a model as it is now; a probe may watch.
std::vector<image::Image> draw(const models::Sagan& model, Backend& backend, DType dtype,
                               std::span<const DrawingPlan> plans, Probe* probe = nullptr);

class ImageGenerator {
 public:
  // Reads the generator only: the folder may be without a discriminator (attend convert --without discriminator).
  // Throws Error when the folder's model does not draw, saying which command fits it.
  ImageGenerator(const std::filesystem::path& folder, Backend& backend, DType dtype = DType::f32);
  ~ImageGenerator();

  const models::Sagan& model() const { return model_; }
  std::int64_t parameters() const { return parameters_.count(); }  // of the generator
  // The class of this name. Throws Error naming those there are.
  std::size_t class_named(std::string_view name) const;
  // Row `row` of the seed's noise, and one class.
  DrawingPlan plan(std::size_t of_class, std::uint64_t seed, std::uint64_t row) const;
  std::vector<image::Image> draw(std::span<const DrawingPlan> plans, Probe* probe = nullptr) const {
    return tasks::draw(model_, backend_, dtype_, plans, probe);
  }

 private:
  Backend& backend_;
  DType dtype_;
  models::Sagan model_;
  nn::Parameters parameters_;
};

}  // namespace attend::tasks
