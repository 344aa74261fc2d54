#include "attend/api/image_tasks.h"

#include "attend/api/opened.h"
#include "attend/tasks/describer.h"
#include "attend/tasks/detector.h"
#include "attend/tasks/image_encoder.h"
#include "attend/tasks/image_generator.h"

namespace attend {

namespace {

using Images = std::vector<image::Image>;

template <class Inner>
Images prepared(const Inner& inner, std::span<const image::Image> images) {
  Images all;
  all.reserve(images.size());
  for (const image::Image& image : images) all.push_back(inner.prepare(image));
  return all;
}

// One image, whole or by its rows.
template <class Inner, class Source>
Images prepared_one(const Inner& inner, Source& image) {
  Images all;
  all.push_back(inner.prepare(image));
  return all;
}

std::shared_ptr<const tasks::ImageEncoder> image_encoder(const std::filesystem::path& folder, catalogue::Task task,
                                                         const Device& device, const ModelOptions& options) {
  return opened<tasks::ImageEncoder>(
      device, [&](Backend& on) { return new tasks::ImageEncoder(folder, task, on, format_of(options)); });
}

template <class Source>
std::vector<Detected> detected_in(const tasks::Detector& inner, Source& image, image::PixelSize size, float threshold) {
  return std::move(inner.detect(prepared_one(inner, image), std::span(&size, 1), threshold)[0]);
}

}  // namespace

ImageClassifier::ImageClassifier(const std::filesystem::path& folder, const Device& device, const ModelOptions& options)
    : inner_(image_encoder(folder, catalogue::Task::classify_images, device, options)) {}
std::vector<Classified> ImageClassifier::classify(std::span<const image::Image> images, std::int64_t top_k) const {
  return inner_->classify(prepared(*inner_, images), top_k);
}
Classified ImageClassifier::classify(const image::Image& image, std::int64_t top_k) const {
  return std::move(inner_->classify(prepared_one(*inner_, image), top_k)[0]);
}
Classified ImageClassifier::classify(image::ImageRows& image, std::int64_t top_k) const {
  return std::move(inner_->classify(prepared_one(*inner_, image), top_k)[0]);
}

ImageEmbedder::ImageEmbedder(const std::filesystem::path& folder, const Device& device, const ModelOptions& options)
    : inner_(image_encoder(folder, catalogue::Task::embed_images, device, options)) {}
std::vector<std::vector<float>> ImageEmbedder::embed(std::span<const image::Image> images) const {
  return inner_->features(prepared(*inner_, images));
}
std::vector<float> ImageEmbedder::embed(const image::Image& image) const {
  return std::move(inner_->features(prepared_one(*inner_, image))[0]);
}
std::vector<float> ImageEmbedder::embed(image::ImageRows& image) const {
  return std::move(inner_->features(prepared_one(*inner_, image))[0]);
}

Detector::Detector(const std::filesystem::path& folder, const Device& device, const ModelOptions& options)
    : inner_(opened<tasks::Detector>(folder, device, options)) {}
std::vector<std::vector<Detected>> Detector::detect(std::span<const image::Image> images, float threshold) const {
  std::vector<image::PixelSize> sizes;
  for (const image::Image& image : images) sizes.push_back({image.width, image.height});
  return inner_->detect(prepared(*inner_, images), sizes, threshold);
}
std::vector<Detected> Detector::detect(const image::Image& image, float threshold) const {
  return detected_in(*inner_, image, {image.width, image.height}, threshold);
}
std::vector<Detected> Detector::detect(image::ImageRows& image, float threshold) const {
  return detected_in(*inner_, image, {image.width(), image.height()}, threshold);
}
const std::vector<std::string>& Detector::labels() const { return inner_->labels(); }

Describer::Describer(const std::filesystem::path& folder, const Device& device, const ModelOptions& options)
    : inner_(opened<tasks::LoadedDescriber>(
          device, [&](Backend& on) { return tasks::load_describer(folder, on, format_of(options)).release(); })) {}
std::vector<Description> Describer::describe(std::span<const image::Image> images,
                                             const DescribeOptions& options) const {
  return inner_->describe(prepared(*inner_, images), options);
}
Description Describer::describe(const image::Image& image, const DescribeOptions& options) const {
  return std::move(inner_->describe(prepared_one(*inner_, image), options)[0]);
}
Description Describer::describe(image::ImageRows& image, const DescribeOptions& options) const {
  return std::move(inner_->describe(prepared_one(*inner_, image), options)[0]);
}

ImageGenerator::ImageGenerator(const std::filesystem::path& folder, const Device& device, const ModelOptions& options)
    : inner_(opened<tasks::ImageGenerator>(
          device, [&](Backend& on) { return new tasks::ImageGenerator(folder, on, format_of(options).dtype); })) {}
const std::vector<std::string>& ImageGenerator::labels() const { return inner_->model().config().labels; }
std::size_t ImageGenerator::class_named(std::string_view name) const { return inner_->class_named(name); }
DrawingPlan ImageGenerator::plan(std::size_t of_class, std::uint64_t seed, std::uint64_t row) const {
  return inner_->plan(of_class, seed, row);
}
std::vector<image::Image> ImageGenerator::draw(std::span<const DrawingPlan> plans) const { return inner_->draw(plans); }

}  // namespace attend
