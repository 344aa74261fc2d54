#include "attend/tasks/image_encoder.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "attend/base/error.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/ops/arithmetic.h"
#include "attend/tasks/label_scores.h"

namespace attend::tasks {

namespace {

image::Image checked_for(const models::ImageModel& model, image::Image prepared) {
  const Extent2 size = model.size();
  check(prepared.height == size.h && prepared.width == size.w,
        "preprocessor_config.json makes images of {} x {}, but the model reads {} x {}", prepared.width,
        prepared.height, size.w, size.h);
  return prepared;
}

}  // namespace

image::Image prepare_for(const models::ImageModel& model, const image::Preprocessor& preprocessor,
                         const image::Image& image) {
  return checked_for(model, preprocessor.prepare(image));
}

image::Image prepare_for(const models::ImageModel& model, const image::Preprocessor& preprocessor,
                         image::ImageRows& image) {
  return checked_for(model, preprocessor.prepare(image));
}

Tensor pixels_for(const models::ImageModel& model, const image::Preprocessor& preprocessor,
                  std::span<const image::Image> prepared, Backend& backend, DType dtype) {
  const Extent2 size = prepared.empty() ? model.size() : Extent2{prepared[0].height, prepared[0].width};
  const auto count = static_cast<std::int64_t>(prepared.size());
  const auto each = static_cast<std::size_t>(size.h * size.w * 3);
  std::vector<float> values(prepared.size() * each);
  for (std::size_t i = 0; i < prepared.size(); ++i) {
    check(prepared[i].height == size.h && prepared[i].width == size.w,
          "images of {} x {} and {} x {} cannot be one batch", size.w, size.h, prepared[i].width, prepared[i].height);
    image::to_floats(prepared[i], preprocessor.normalization(), values.data() + i * each);
  }
  Tensor tensor = make_tensor(backend, {count, size.h, size.w, 3}, DType::f32);
  upload(tensor, values);
  return dtype == DType::f32 ? tensor : ops::cast(tensor, dtype);
}

namespace {

// The size that all images of a folder become; none where it differs from image to image.
std::optional<image::PixelSize> fixed_size(const image::PreprocessorConfig& config) {
  if (config.crop) return config.crop;
  if (config.resize.kind == image::SizeRule::Kind::exact) return config.resize.size;
  return std::nullopt;
}

// A model whose weights do not depend on the size is made for the size that its folder prepares: transformers runs it
// at any. Others keep the size of their table of positions.
Json sized_config(const catalogue::ModelConfig& config, const image::Preprocessor& preprocessor) {
  Json json = config.json;
  const std::optional<image::PixelSize> size = fixed_size(preprocessor.config());
  if (config.entry->free_size && !config.timm && size && size->width == size->height) json["image_size"] = size->width;
  return json;
}

}  // namespace

ImageEncoder::~ImageEncoder() = default;

ImageEncoder::ImageEncoder(const std::filesystem::path& folder, catalogue::Task task, Backend& backend,
                           const nn::ModelFormat& format)
    : ImageEncoder(folder, catalogue::read_config(folder, task), backend, format) {}

ImageEncoder::ImageEncoder(const std::filesystem::path& folder, const catalogue::ModelConfig& config, Backend& backend,
                           const nn::ModelFormat& format)
    : backend_(backend),
      dtype_(format.dtype),
      preprocessor_(image::Preprocessor::load(folder)),
      model_(catalogue::make_image_model(sized_config(config, preprocessor_), config.path)),
      parameters_(backend, model_->parameters(), checkpoint::run_options(folder, format)) {
  check(model_->channels() == 3, "{}: the model reads images of {} channels; only colours (3) are known", config.path,
        model_->channels());
  const checkpoint::TensorFiles files = checkpoint::TensorFiles::open(folder);
  checkpoint::HuggingFaceOptions options = catalogue::load_options(config, files);
  options.new_head = config.task == catalogue::Task::embed_images;
  checkpoint::load_hugging_face(files, parameters_, options);
  model_->fold();
}

image::Image ImageEncoder::prepare(const image::Image& image) const {
  return model_->any_size() ? preprocessor_.prepare(image) : prepare_for(*model_, preprocessor_, image);
}

image::Image ImageEncoder::prepare(image::ImageRows& image) const {
  return model_->any_size() ? preprocessor_.prepare(image) : prepare_for(*model_, preprocessor_, image);
}

// Rows of what `forward` makes of all images, those of one size together.
std::vector<std::vector<float>> ImageEncoder::rows(std::span<const image::Image> prepared,
                                                   const std::function<Tensor(const Tensor&)>& forward) const {
  std::map<std::pair<int, int>, std::vector<std::size_t>> by_size;
  for (std::size_t i = 0; i < prepared.size(); ++i) by_size[{prepared[i].height, prepared[i].width}].push_back(i);
  std::vector<std::vector<float>> result(prepared.size());
  for (const auto& [size, numbers] : by_size) {
    std::vector<image::Image> some;
    if (by_size.size() > 1)
      for (const std::size_t i : numbers) some.push_back(prepared[i]);
    Pass pass(backend_);
    const Tensor made =
        forward(pass.input(pixels(by_size.size() > 1 ? std::span<const image::Image>(some) : prepared)));
    const std::vector<float> all = download(made);
    const auto width = static_cast<std::ptrdiff_t>(made.width());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(i) * width;
      result[numbers[i]].assign(begin, begin + width);
    }
  }
  return result;
}

std::vector<std::vector<float>> ImageEncoder::features(std::span<const image::Image> prepared) const {
  return rows(prepared, [this](const Tensor& x) { return model_->features(model_->states(x)); });
}

std::vector<Classified> ImageEncoder::classify(std::span<const image::Image> prepared, std::int64_t top_k) const {
  check(top_k >= 0, "classify: top-k must be 0 (all) or more, not {}", top_k);
  std::vector<Classified> results;
  for (std::vector<float>& logits : rows(prepared, [this](const Tensor& x) { return model_->logits(x); }))
    results.push_back(label_scores(std::move(logits), model_->labels(), model_->problem(), top_k));
  return results;
}

}  // namespace attend::tasks
