#include "attend/tasks/picture_encoder.h"

#include <utility>

#include "attend/base/error.h"
#include "attend/base/ranking.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/ops/arithmetic.h"

namespace attend::tasks {

namespace {

image::Image checked_for(const models::PictureModel& model, image::Image prepared) {
  const Extent2 size = model.size();
  check(prepared.height == size.h && prepared.width == size.w,
        "preprocessor_config.json makes pictures of {} x {}, but the model reads {} x {}", prepared.width,
        prepared.height, size.w, size.h);
  return prepared;
}

}  // namespace

image::Image prepare_for(const models::PictureModel& model, const image::Preprocessor& preprocessor,
                         const image::Image& picture) {
  return checked_for(model, preprocessor.prepare(picture));
}

image::Image prepare_for(const models::PictureModel& model, const image::Preprocessor& preprocessor,
                         image::ImageRows& picture) {
  return checked_for(model, preprocessor.prepare(picture));
}

Tensor pixels_for(const models::PictureModel& model, const image::Preprocessor& preprocessor,
                  std::span<const image::Image> prepared, Backend& backend, DType dtype) {
  const Extent2 size = model.size();
  const auto count = static_cast<std::int64_t>(prepared.size());
  const auto each = static_cast<std::size_t>(size.h * size.w * 3);
  std::vector<float> values(prepared.size() * each);
  for (std::size_t i = 0; i < prepared.size(); ++i)
    image::to_floats(prepared[i], preprocessor.normalization(), values.data() + i * each);
  Tensor tensor = make_tensor(backend, {count, size.h, size.w, 3}, DType::f32);
  upload(tensor, values);
  return dtype == DType::f32 ? tensor : ops::cast(tensor, dtype);
}

PictureEncoder::PictureEncoder(const std::filesystem::path& folder, catalogue::Task task, Backend& backend,
                               const nn::ModelFormat& format)
    : PictureEncoder(folder, catalogue::read_config(folder, task), backend, format) {}

PictureEncoder::PictureEncoder(const std::filesystem::path& folder, const catalogue::ModelConfig& config,
                               Backend& backend, const nn::ModelFormat& format)
    : backend_(backend),
      dtype_(format.dtype),
      model_(catalogue::make_picture_model(config.json, config.path)),
      preprocessor_(image::Preprocessor::load(folder)),
      parameters_(backend, model_->parameters(), run_options(folder, format)) {
  check(model_->channels() == 3, "{}: the model reads pictures of {} channels; only colours (3) are known", config.path,
        model_->channels());
  const TensorFiles files = TensorFiles::open(folder);
  HuggingFaceOptions options = catalogue::load_options(config, files);
  options.new_head = config.task == catalogue::Task::embed_pictures;
  load_hugging_face(files, parameters_, options);
  model_->fold();
}

std::vector<std::vector<float>> PictureEncoder::features(std::span<const image::Image> prepared) const {
  if (prepared.empty()) return {};
  Pass pass(backend_);
  const Tensor features = model_->features(model_->states(pass.input(pixels(prepared))));
  const std::vector<float> all = download(features);
  const auto width = static_cast<std::ptrdiff_t>(features.width());
  std::vector<std::vector<float>> rows;
  for (std::size_t i = 0; i < prepared.size(); ++i) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(i) * width;
    rows.emplace_back(begin, begin + width);
  }
  return rows;
}

std::vector<Classified> PictureEncoder::classify(std::span<const image::Image> prepared, std::int64_t top_k) const {
  check(top_k >= 0, "classify: top-k must be 0 (all) or more, not {}", top_k);
  if (prepared.empty()) return {};
  Pass pass(backend_);
  std::vector<float> logits = download(model_->logits(pass.input(pixels(prepared))));
  const std::vector<std::string>& labels = model_->labels();
  const std::int64_t count = top_k > 0 ? top_k : static_cast<std::int64_t>(labels.size());
  std::vector<Classified> results(prepared.size());
  for (std::size_t i = 0; i < prepared.size(); ++i) {
    const auto values = std::span(logits).subspan(i * labels.size(), labels.size());
    softmax(values);
    for (std::size_t label : largest(values, count)) results[i].labels.push_back({labels[label], values[label]});
  }
  return results;
}

}  // namespace attend::tasks
