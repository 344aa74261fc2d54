// Models that read or write images, one class a task; as in text_tasks.h, a model keeps its device, and copies are the
// same model. Images are given as they come from files: the model's folder says how they are resized. An
// image::ImageRows (image::open_rows) is resized while it is read, so that a large image is never whole in memory.
//
//   const attend::Detector detector(attend::find_model("detr-scenes"), attend::Device("cpu"));
//   for (const auto& found : detector.detect(attend::image::read_image("scene.png")))
//     std::cout << detector.labels()[found.label] << ' ' << found.score << '\n';
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attend/api/model.h"
#include "attend/device.h"
#include "attend/image/image.h"
#include "attend/image/image_rows.h"
#include "attend/tasks/results.h"

namespace attend {

namespace tasks {
class Detector;
class ImageEncoder;
class ImageGenerator;
struct LoadedDescriber;
}  // namespace tasks

using tasks::Classified;
using tasks::DescribeOptions;
using tasks::Description;
using tasks::Detected;
using tasks::DrawingPlan;

// The likeliest labels of images.
class ImageClassifier {
 public:
  ImageClassifier(const std::filesystem::path& folder, const Device& device, const ModelOptions& options = {});

  // top_k 0: all labels.
  std::vector<Classified> classify(std::span<const image::Image> images, std::int64_t top_k = 1) const;
  Classified classify(const image::Image& image, std::int64_t top_k = 1) const;
  Classified classify(image::ImageRows& image, std::int64_t top_k = 1) const;

 private:
  std::shared_ptr<const tasks::ImageEncoder> inner_;
};

// A vector for each image.
class ImageEmbedder {
 public:
  ImageEmbedder(const std::filesystem::path& folder, const Device& device, const ModelOptions& options = {});

  std::vector<std::vector<float>> embed(std::span<const image::Image> images) const;
  std::vector<float> embed(const image::Image& image) const;
  std::vector<float> embed(image::ImageRows& image) const;

 private:
  std::shared_ptr<const tasks::ImageEncoder> inner_;
};

// Boxes with labels and scores, in pixels of the image, best first.
class Detector {
 public:
  Detector(const std::filesystem::path& folder, const Device& device, const ModelOptions& options = {});

  std::vector<std::vector<Detected>> detect(std::span<const image::Image> images, float threshold = 0.7f) const;
  std::vector<Detected> detect(const image::Image& image, float threshold = 0.7f) const;
  std::vector<Detected> detect(image::ImageRows& image, float threshold = 0.7f) const;
  const std::vector<std::string>& labels() const;

 private:
  std::shared_ptr<const tasks::Detector> inner_;
};

// Sentences about images.
class Describer {
 public:
  Describer(const std::filesystem::path& folder, const Device& device, const ModelOptions& options = {});

  std::vector<Description> describe(std::span<const image::Image> images, const DescribeOptions& options = {}) const;
  Description describe(const image::Image& image, const DescribeOptions& options = {}) const;
  Description describe(image::ImageRows& image, const DescribeOptions& options = {}) const;

 private:
  std::shared_ptr<const tasks::LoadedDescriber> inner_;
};

// Images from noise and a class.
class ImageGenerator {
 public:
  ImageGenerator(const std::filesystem::path& folder, const Device& device, const ModelOptions& options = {});

  const std::vector<std::string>& labels() const;        // of the classes
  std::size_t class_named(std::string_view name) const;  // Throws Error naming those there are.
  // Row `row` of the seed's noise, and one class. Plans may be mixed before they are drawn.
  DrawingPlan plan(std::size_t of_class, std::uint64_t seed, std::uint64_t row) const;
  std::vector<image::Image> draw(std::span<const DrawingPlan> plans) const;

 private:
  std::shared_ptr<const tasks::ImageGenerator> inner_;
};

}  // namespace attend
