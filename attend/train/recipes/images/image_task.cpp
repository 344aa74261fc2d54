#include "attend/train/recipes/images/image_task.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "attend/base/error.h"
#include "attend/base/ranking.h"
#include "attend/metrics/classification.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/softmax.h"
#include "attend/train/loop/shared_batches.h"
#include "attend/train/recipes/training_examples.h"

namespace attend::train {

Json ImageEvaluator::Verdict::json() const {
  return {{"images", images}, {"loss", loss}, {"accuracy", top1}, {"top5", top5}};
}

std::vector<float> ImageEvaluator::logits(Pass& pass, const std::vector<float>& values) const {
  const auto one = static_cast<std::size_t>(model_.size().h * model_.size().w * 3);
  const Tensor pixels = make_tensor(
      backend_, {static_cast<std::int64_t>(values.size() / one), model_.size().h, model_.size().w, 3}, DType::f32);
  upload(pixels, values);
  const Tensor read = pass.input(dtype_ == DType::f32 ? pixels : ops::cast(pixels, dtype_));
  return download(model_.logits(read));
}

std::vector<ImageEvaluator::Evaluated> ImageEvaluator::evaluated(Pass& pass, const data::HostImageBatch& batch) const {
  const auto classes = model_.labels().size();
  std::vector<float> logits =
      mean_over_views(batch.values, model_.size(), 3, options_,
                      [&](const std::vector<float>& values) { return this->logits(pass, values); });
  std::vector<Evaluated> found;
  for (std::size_t i = 0; i < batch.labels.size(); ++i) {
    if (batch.labels[i] == data::kIgnoredLabel) continue;
    const auto values = std::span(logits).subspan(i * classes, classes);
    softmax(values);
    const auto truth = static_cast<std::size_t>(batch.labels[i]);
    const std::vector<std::size_t> best = largest(values, 5);
    found.push_back({.loss = -std::log(std::max(static_cast<double>(values[truth]), 1e-30)),
                     .predicted = static_cast<std::int32_t>(best[0]),
                     .truth = batch.labels[i],
                     .sure = values[best[0]],
                     .among5 = std::ranges::find(best, truth) != best.end()});
  }
  return found;
}

ImageEvaluator::Verdict ImageEvaluator::operator()(data::ValidationImages& images, world::World& world) const {
  train::SharedFindings shared(world, static_cast<std::size_t>(images.batches()));
  Pass pass(backend_);
  images.for_each_of(train::shard_of(world), [&](std::size_t number, const data::HostImageBatch& batch) {
    const std::vector<Evaluated> found = evaluated(pass, batch);
    shared.set<Evaluated>(number, found);
  });
  Verdict verdict;
  double loss = 0;
  std::int64_t top1 = 0, top5 = 0;
  for (const std::string& bytes : shared.all())
    for (const Evaluated& one : train::values_in<Evaluated>(bytes)) {
      loss += one.loss;
      top1 += one.predicted == one.truth;
      top5 += one.among5;
      verdict.predicted.push_back(one.predicted);
      verdict.truth.push_back(one.truth);
      verdict.sure.push_back(one.sure);
    }
  verdict.images = static_cast<std::int64_t>(verdict.truth.size());
  const double count = static_cast<double>(std::max<std::int64_t>(verdict.images, 1));
  verdict.loss = loss / count;
  verdict.top1 = static_cast<double>(top1) / count, verdict.top5 = static_cast<double>(top5) / count;
  return verdict;
}

ImageTask::ImageTask(const Parts& parts, const ImageTaskOptions& options)
    : parts_(parts),
      options_(options),
      pixels_(make_tensor(parts.backend, {parts.batch, parts.model.size().h, parts.model.size().w, 3}, DType::f32)),
      labels_(make_tensor(parts.backend, {parts.batch}, DType::i32)),
      others_(make_tensor(parts.backend, {parts.batch}, DType::i32)),
      share_(make_tensor(parts.backend, {1}, DType::f32)),
      rest_(make_tensor(parts.backend, {1}, DType::f32)) {}

// On its way while the device still computes the step before.
std::uint64_t ImageTask::next_batch() {
  data::HostImageBatch batch = parts_.training.next();
  const auto put = [](const Tensor& to, const auto& list) {
    check(static_cast<std::int64_t>(list.size()) == to.size(), "training: {} values for {}", list.size(), to.shape());
    to.backend().to_device_async(to.raw(), list.data(), list.size() * sizeof(list[0]));
  };
  put(pixels_, batch.values);
  put(labels_, batch.labels);
  if (options_.mixed) {
    put(others_, batch.other_labels);
    put(share_, std::array{batch.share});
    put(rest_, std::array{1 - batch.share});
  }
  parts_.training.give_back(std::move(batch));
  if (parts_.teacher) parts_.teacher->look(pixels_);
  return 1;
}

// Of a mixed batch: as much of each image's own label as there is of the image, and the rest of the other's.
train::Loss ImageTask::loss(Pass& pass) {
  const Tensor pixels = pass.input(pixels_);
  const Tensor logits = parts_.model.logits(parts_.dtype == DType::f32 ? pixels : ops::cast(pixels, parts_.dtype));
  const ops::CrossEntropyOptions smoothed{.smoothing = options_.label_smoothing};
  Tensor mean = ops::cross_entropy(logits, pass.input(labels_), smoothed).mean;
  if (options_.mixed) {
    const Tensor other = ops::cross_entropy(logits, pass.input(others_), smoothed).mean;
    mean = ops::add(ops::multiply(mean, pass.input(share_)), ops::multiply(other, pass.input(rest_)));
  }
  return parts_.teacher ? parts_.teacher->loss(logits, mean) : mean;
}

Json ImageTask::position() const { return {{"batch", parts_.training.position()}}; }

void ImageTask::seek(const Json& position) {
  check(position.is_object() && position.contains("batch") && position["batch"].is_number_unsigned(),
        "training: the saved place in the data is damaged");
  parts_.training.seek(position["batch"].get<std::uint64_t>());
}

train::Validation ImageTask::evaluate(data::ValidationImages& images, world::World& world) const {
  const ImageEvaluator::Verdict verdict = evaluator()(images, world);
  return {.loss = verdict.loss,
          .score = options_.select_by_loss ? -verdict.loss : verdict.top1,
          .text = fmt::format("validation loss {:.4f}, accuracy {:.2f} %", verdict.loss, 100 * verdict.top1),
          .json = verdict.json()};
}

// How sure it is where it is right, and where it is wrong.
std::vector<train::ScoredExample> ImageTask::scored_examples() {
  const ImageEvaluator::Verdict verdict = evaluator()(parts_.validation);
  if (verdict.truth.size() != parts_.names.size()) return {};  // broken ones are left out, so that names do not fit
  const std::vector<std::string> labels = parts_.model.labels();
  std::vector<train::ScoredExample> list;
  for (std::size_t i = 0; i < verdict.truth.size(); ++i) {
    const bool right = verdict.predicted[i] == verdict.truth[i];
    const auto sure = static_cast<double>(verdict.sure[i]);
    list.push_back(
        {.input = parts_.names[i],
         .said = fmt::format("{} ({:.0f} %)", labels[static_cast<std::size_t>(verdict.predicted[i])], 100 * sure),
         .should = labels[static_cast<std::size_t>(verdict.truth[i])],
         .score = right ? sure : -sure});
  }
  return list;
}

std::vector<train::Example> ImageTask::examples(const train::ExampleLimits& limits) {
  if (!shown_) shown_ = parts_.validation.some(limits.count);
  std::vector<train::Example> examples;
  for (const data::ValidationImages::Shown& shown : *shown_)
    examples.push_back(image_example({parts_.model, parts_.backend, parts_.dtype, parts_.validation.normalization()},
                                     shown.prepared, shown.label));
  return examples;
}

}  // namespace attend::train
