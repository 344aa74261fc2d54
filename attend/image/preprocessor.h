// From images to what a model sees: resized, cropped, rescaled, normalised, stacked.
//   Preprocessor preprocessor = Preprocessor::load("vit-base");
//   Pixels pixels = preprocessor(read_image("cat.jpg"));             // values [1, 3, 224, 224]
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "attend/image/image.h"
#include "attend/image/image_rows.h"
#include "attend/image/preprocessor_config.h"

namespace attend::image {

// values = pixel * scale + shift, a plane a channel (CHW), rows row_stride and planes plane_stride floats apart.
struct Normalization {
  float scale[3], shift[3];
  Normalization(double rescale, const std::array<double, 3>& mean, const std::array<double, 3>& std);
};
void to_planes(const Image& image, const Normalization& normalization, float* values, std::size_t row_stride,
               std::size_t plane_stride);
// The same with the channels side by side, as the pixels lie (HWC), without gaps.
void to_floats(const Image& image, const Normalization& normalization, float* values);

struct Pixels {
  std::int64_t batch = 0, height = 0, width = 0;
  std::vector<float> values = {};       // [batch, 3, height, width]
  std::vector<std::int64_t> mask = {};  // [batch, height, width], 1 where there is image; empty when a model needs none
};

class Preprocessor {
 public:
  explicit Preprocessor(PreprocessorConfig config);
  static Preprocessor load(const std::filesystem::path& folder) {
    return Preprocessor(PreprocessorConfig::load(folder));
  }

  const PreprocessorConfig& config() const { return config_; }
  const Normalization& normalization() const { return normalization_; }

  Image prepare(const Image& image) const;                 // resized and cropped
  Image prepare(ImageRows& rows) const;                    // the same, without all pixels in memory
  Pixels stack(std::span<const Image> prepared) const;     // normalised, one behind the other
  Pixels operator()(std::span<const Image> images) const;  // both
  Pixels operator()(const Image& image) const { return (*this)(std::span(&image, 1)); }

 private:
  PixelSize size_of(PixelSize image) const;
  template <class Source>
  Image prepared(Source& source, PixelSize image) const;
  PreprocessorConfig config_;
  Normalization normalization_;
};

}  // namespace attend::image
