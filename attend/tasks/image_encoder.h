// A model that looks at images, with what its folder says of them: images in, vectors or scores out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attend/catalogue/catalogue.h"
#include "attend/image/image.h"
#include "attend/image/preprocessor.h"
#include "attend/models/image_model.h"
#include "attend/nn/parameters.h"
#include "attend/tasks/classifier.h"

namespace attend::tasks {

// An image resized and cropped as a model reads it. Throws Error when what the folder says makes another size.
image::Image prepare_for(const models::ImageModel& model, const image::Preprocessor& preprocessor,
                         const image::Image& image);
image::Image prepare_for(const models::ImageModel& model, const image::Preprocessor& preprocessor,
                         image::ImageRows& image);
// Such images as numbers, [B, H, W, C].
Tensor pixels_for(const models::ImageModel& model, const image::Preprocessor& preprocessor,
                  std::span<const image::Image> prepared, Backend& backend, DType dtype);

class ImageEncoder {
 public:
  // Throws Error when the folder's model does not do the task, saying which command fits it.
  ImageEncoder(const std::filesystem::path& folder, catalogue::Task task, Backend& backend,
               const nn::ModelFormat& format = {});
  ~ImageEncoder();

  Backend& backend() const { return backend_; }
  const models::ImageModel& model() const { return *model_; }
  const image::Preprocessor& preprocessor() const { return preprocessor_; }
  const nn::Parameters& parameters() const { return parameters_; }
  nn::Parameters& parameters() { return parameters_; }

  // Resized and cropped as the model reads them.
  image::Image prepare(const image::Image& image) const;
  image::Image prepare(image::ImageRows& image) const;
  // Prepared images as numbers, [B, H, W, C], in the dtype the model computes in.
  Tensor pixels(std::span<const image::Image> prepared) const {
    return pixels_for(*model_, preprocessor_, prepared, backend_, dtype_);
  }

  // One vector for each prepared image.
  std::vector<std::vector<float>> features(std::span<const image::Image> prepared) const;
  // The likeliest labels of each; top_k 0: all.
  std::vector<Classified> classify(std::span<const image::Image> prepared, std::int64_t top_k) const;

 private:
  ImageEncoder(const std::filesystem::path& folder, const catalogue::ModelConfig& config, Backend& backend,
               const nn::ModelFormat& format);
  std::vector<std::vector<float>> rows(std::span<const image::Image> prepared,
                                       const std::function<Tensor(const Tensor&)>& forward) const;

  Backend& backend_;
  DType dtype_;
  image::Preprocessor preprocessor_;
  std::unique_ptr<models::ImageModel> model_;
  nn::Parameters parameters_;
};

}  // namespace attend::tasks
