// A DETR with what its folder says of images: images in, boxes with labels and scores out, in the pixels of the
// images as they were before they were made to fit the model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "attend/catalogue/catalogue.h"
#include "attend/data/images/annotations.h"
#include "attend/image/image.h"
#include "attend/image/preprocessor.h"
#include "attend/models/detr.h"
#include "attend/nn/parameters.h"
#include "attend/tasks/results.h"

namespace attend::tasks {

// The model's answers for one image, logits [Q, labels + 1] and boxes [Q, 4]: of each query the likeliest label, in
// pixels of an image of this size, best first; those below the threshold are left out.
struct DetectedIn {
  double width = 1, height = 1;
  float threshold = 0;
};
std::vector<Detected> detected(std::span<const float> logits, std::span<const float> boxes, const DetectedIn& in);

class Detector {
 public:
  // Throws Error when the folder's model finds no boxes, saying which command fits it.
  Detector(const std::filesystem::path& folder, Backend& backend, const nn::ModelFormat& format = {});
  ~Detector();

  const models::Detr& model() const { return model_; }
  const std::vector<std::string>& labels() const { return model_.config().labels; }
  std::int64_t parameters() const { return parameters_.count(); }

  // Resized as the model reads them.
  image::Image prepare(const image::Image& image) const { return preprocessor_.prepare(image); }
  image::Image prepare(image::ImageRows& image) const { return preprocessor_.prepare(image); }
  // One list for each prepared image; sizes: of the images before they were prepared.
  std::vector<std::vector<Detected>> detect(std::span<const image::Image> prepared,
                                            std::span<const image::PixelSize> sizes, float threshold) const;

  // What every query answers about one prepared image, and how its places lie in what a probe sees: the first
  // rows x columns of them, row by row.
  struct Answers {
    std::vector<float> logits, boxes;  // [Q, labels + 1] and [Q, 4]
    Extent2 grid = {};
  };
  Answers answers(const image::Image& prepared, Probe& probe) const;

 private:
  // As the model reads them: padded to one size.
  struct Batch {
    Tensor pixels;
    Extent2 padded;
    std::vector<Extent2> own;
  };
  Batch batch_of(std::span<const image::Image* const> prepared) const;
  Detector(const std::filesystem::path& folder, const catalogue::ModelConfig& config, Backend& backend,
           const nn::ModelFormat& format);

  Backend& backend_;
  DType dtype_;
  models::Detr model_;
  image::Preprocessor preprocessor_;
  nn::Parameters parameters_;
};

}  // namespace attend::tasks
