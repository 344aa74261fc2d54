#include "attend/tasks/detector.h"

#include <algorithm>
#include <map>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/ranking.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/ops/arithmetic.h"

namespace attend::tasks {

std::vector<Detected> detected(std::span<const float> logits, std::span<const float> boxes, const DetectedIn& in) {
  const std::size_t queries = boxes.size() / 4;
  check(queries > 0 && logits.size() % queries == 0 && logits.size() / queries >= 2,
        "detect: {} logits for {} boxes make no sense", logits.size(), queries);
  const std::size_t classes = logits.size() / queries;
  std::vector<Detected> found;
  for (std::size_t q = 0; q < queries; ++q) {
    std::vector<float> shares(logits.begin() + static_cast<std::ptrdiff_t>(q * classes),
                              logits.begin() + static_cast<std::ptrdiff_t>((q + 1) * classes));
    softmax(shares);
    const auto best = std::max_element(shares.begin(), shares.end() - 1);  // the last is "no object"
    if (*best < in.threshold) continue;
    const auto number = [&](std::size_t i) { return static_cast<double>(boxes[4 * q + i]); };
    const double width = number(2) * in.width, height = number(3) * in.height;
    found.push_back({.label = static_cast<std::int32_t>(best - shares.begin()),
                     .score = *best,
                     .box = {number(0) * in.width - width / 2, number(1) * in.height - height / 2, width, height},
                     .query = static_cast<std::int32_t>(q)});
  }
  std::ranges::stable_sort(found, [](const Detected& a, const Detected& b) { return a.score > b.score; });
  return found;
}

Detector::~Detector() = default;

Detector::Detector(const std::filesystem::path& folder, Backend& backend, const nn::ModelFormat& format)
    : Detector(folder, catalogue::read_config(folder, catalogue::Task::detect), backend, format) {}

Detector::Detector(const std::filesystem::path& folder, const catalogue::ModelConfig& config, Backend& backend,
                   const nn::ModelFormat& format)
    : backend_(backend),
      dtype_(format.dtype),
      model_(models::detr_config(config.json, config.path)),
      preprocessor_(image::Preprocessor::load(folder)),
      parameters_(backend, model_.parameters(), checkpoint::run_options(folder, format)) {
  check(model_.config().backbone.channels == 3, "{}: the model reads images of {} channels; only colours (3) are known",
        config.path, model_.config().backbone.channels);
  const checkpoint::TensorFiles files = checkpoint::TensorFiles::open(folder);
  checkpoint::load_hugging_face(files, parameters_, catalogue::load_options(config, files));
  model_.fold();
}

Detector::Batch Detector::batch_of(std::span<const image::Image* const> prepared) const {
  Batch batch{.pixels = {}, .padded = {1, 1}, .own = {}};
  Extent2& padded = batch.padded;
  for (const image::Image* image : prepared) {
    batch.own.push_back({image->height, image->width});
    padded = {std::max<std::int64_t>(padded.h, image->height), std::max<std::int64_t>(padded.w, image->width)};
  }
  if (const auto& fixed = preprocessor_.config().pad_size) {
    check(padded.h <= fixed->height && padded.w <= fixed->width,
          "detect: an image of {} x {} does not fit into the {} x {} of pad_size", padded.w, padded.h, fixed->width,
          fixed->height);
    padded = {fixed->height, fixed->width};
  }
  const auto count = static_cast<std::int64_t>(prepared.size());
  const auto row = static_cast<std::size_t>(3 * padded.w), each = row * static_cast<std::size_t>(padded.h);
  std::vector<float> values(prepared.size() * each), floats;
  for (std::size_t i = 0; i < prepared.size(); ++i) {
    const image::Image& image = *prepared[i];
    floats.resize(image.pixels.size());
    image::to_floats(image, preprocessor_.normalization(), floats.data());
    for (std::size_t y = 0; y < static_cast<std::size_t>(image.height); ++y)
      std::copy_n(floats.data() + y * image.row_bytes(), image.row_bytes(), values.data() + i * each + y * row);
  }
  const Tensor pixels = make_tensor(backend_, {count, padded.h, padded.w, 3}, DType::f32);
  upload(pixels, values);
  batch.pixels = dtype_ == DType::f32 ? pixels : ops::cast(pixels, dtype_);
  return batch;
}

Detector::Answers Detector::answers(const image::Image& prepared, Probe& probe) const {
  const image::Image* const one = &prepared;
  const Batch batch = batch_of(std::span(&one, 1));
  const models::PositionLayout places = model_.places(backend_, dtype_, batch.padded, batch.own);
  Pass pass(backend_, {.probe = &probe});
  const models::DetrOutput output = model_.detect(pass.input(batch.pixels), places);
  return {download(output.logits), download(output.boxes), model_.own_grid(batch.padded, batch.own[0])};
}

// Those of one size together. A padded image would not give the same answers as alone: behind the first convolution its
// border is a bias and no zero any more.
std::vector<std::vector<Detected>> Detector::detect(std::span<const image::Image> prepared,
                                                    std::span<const image::PixelSize> sizes, float threshold) const {
  check(threshold >= 0 && threshold <= 1, "detect: 'threshold' is {}, but must be from 0 to 1", threshold);
  check(prepared.size() == sizes.size(), "detect: {} images of {} sizes", prepared.size(), sizes.size());
  std::map<std::pair<int, int>, std::vector<std::size_t>> by_size;
  for (std::size_t i = 0; i < prepared.size(); ++i) by_size[{prepared[i].height, prepared[i].width}].push_back(i);
  std::vector<std::vector<Detected>> found(prepared.size());
  for (const auto& [size, numbers] : by_size) {
    std::vector<const image::Image*> images;
    for (const std::size_t i : numbers) images.push_back(&prepared[i]);
    const Batch batch = batch_of(images);
    const models::PositionLayout places = model_.places(backend_, dtype_, batch.padded, batch.own);
    Pass pass(backend_);
    const models::DetrOutput output = model_.detect(pass.input(batch.pixels), places);
    const std::vector<float> logits = download(output.logits), boxes = download(output.boxes);
    const std::size_t count = images.size();
    for (std::size_t i = 0; i < count; ++i) {
      const auto of = [&](const std::vector<float>& all) {
        return std::span(all).subspan(i * (all.size() / count), all.size() / count);
      };
      const image::PixelSize& own = sizes[numbers[i]];
      found[numbers[i]] = detected(
          of(logits), of(boxes),
          {.width = static_cast<double>(own.width), .height = static_cast<double>(own.height), .threshold = threshold});
    }
  }
  return found;
}

}  // namespace attend::tasks
