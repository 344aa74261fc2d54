#include "attend/train/recipes/detection/detect_task.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "attend/base/error.h"
#include "attend/ops/arithmetic.h"
#include "attend/tasks/detector.h"
#include "attend/train/loop/shared_batches.h"
#include "attend/train/recipes/detection/reading_examples.h"

namespace attend::train {

std::vector<models::DetrObjects> objects_in(const data::HostDetectionBatch& batch) {
  std::vector<models::DetrObjects> all;
  for (const std::vector<data::LabelledBox>& boxes : batch.boxes) {
    models::DetrObjects objects;
    for (const data::LabelledBox& box : boxes) {
      objects.labels.push_back(box.label);
      for (const double number :
           {(box.left + box.right) / 2, (box.top + box.bottom) / 2, box.right - box.left, box.bottom - box.top})
        objects.boxes.push_back(static_cast<float>(number));
    }
    all.push_back(std::move(objects));
  }
  return all;
}

Json DetectionEvaluator::Verdict::json() const {
  return {{"images", images},
          {"loss", loss},
          {"class", classes},
          {"l1", l1},
          {"giou", giou},
          {"ap", scores.stats[0]},
          {"ap50", scores.stats[1]},
          {"ap75", scores.stats[2]},
          {"ap_small", scores.stats[3]},
          {"ap_medium", scores.stats[4]},
          {"ap_large", scores.stats[5]},
          {"per_class", scores.per_category}};
}

models::DetrOutput DetectionEvaluator::answers(Pass& pass, const data::HostDetectionBatch& batch) const {
  const auto count = static_cast<std::int64_t>(batch.items.size());
  const Tensor pixels = make_tensor(backend_, {count, batch.side, batch.side, 3}, DType::f32);
  upload(pixels, batch.values);
  const models::PositionLayout places = model_.places(backend_, dtype_, {batch.side, batch.side}, batch.sizes);
  return model_.detect(pass.input(dtype_ == DType::f32 ? pixels : ops::cast(pixels, dtype_)), places);
}

DetectionEvaluator::Sums DetectionEvaluator::sums_of(const models::DetrOutput& output,
                                                     const data::HostDetectionBatch& batch) const {
  const auto count = static_cast<std::int64_t>(batch.items.size());
  models::DetrCriterion criterion(backend_, model_.config(), 1, count);
  criterion.keep(output);
  criterion.match(objects_in(batch));
  const models::DetrLosses losses = criterion.loss(output);
  const auto sum = [&](const Tensor& mean) {
    return static_cast<double>(download(mean)[0]) * static_cast<double>(count);
  };
  return {static_cast<double>(count), sum(losses.total), sum(losses.classes), sum(losses.l1), sum(losses.giou)};
}

DetectionEvaluator::Verdict DetectionEvaluator::operator()(data::ValidationDetections& images,
                                                           world::World& world) const {
  const data::DetectionSet& set = images.source().set;
  train::SharedBatches sums(world, images.batches(), std::tuple_size_v<Sums>);
  train::SharedFindings found(world, images.batches());
  Pass pass(backend_);
  images.for_each_of(train::shard_of(world), [&](std::size_t number, const data::HostDetectionBatch& batch) {
    const models::DetrOutput output = answers(pass, batch);
    const std::size_t count = batch.items.size();
    const Sums here = sums_of(output, batch);
    sums.set(number, {here[0], here[1], here[2], here[3], here[4]});
    const std::vector<float> logits = download(output.logits), boxes = download(output.boxes);
    std::vector<data::Detection> detections;
    for (std::size_t i = 0; i < count; ++i) {
      const auto of = [&](const std::vector<float>& all) {
        return std::span(all).subspan(i * (all.size() / count), all.size() / count);
      };
      const data::CocoImage& image = set.image(batch.items[i]);
      const tasks::DetectedIn whole{static_cast<double>(image.width), static_cast<double>(image.height)};
      for (const tasks::Detected& one : tasks::detected(of(logits), of(boxes), whole))
        detections.push_back(
            {.image = batch.items[i], .category = one.label, .box = one.box, .score = static_cast<double>(one.score)});
    }
    found.set<data::Detection>(number, detections);
  });
  std::vector<data::Detection> detections;
  for (const std::string& bytes : found.all())
    for (const data::Detection& one : train::values_in<data::Detection>(bytes)) detections.push_back(one);
  const std::vector<double> all = sums.sums();
  const double count = std::max(all[0], 1.0);
  return {.images = static_cast<std::int64_t>(all[0]),
          .loss = all[1] / count,
          .classes = all[2] / count,
          .l1 = all[3] / count,
          .giou = all[4] / count,
          .scores = metrics::coco_scores(set.truth(images.source().items), detections)};
}

DetectTask::DetectTask(const Parts& parts, const Options& options)
    : parts_(parts),
      options_(options),
      criterion_(parts.backend, parts.model.config(),
                 options.auxiliary ? parts.model.config().decoder_layers : std::int64_t{1}, parts.batch),
      pixels_(make_tensor(parts.backend, {parts.batch, parts.image_size, parts.image_size, 3}, DType::f32)),
      // Of images that are padded, so that there is room for an order even in a batch of one.
      places_(parts.model.places(parts.backend, parts.dtype, padded(),
                                 std::vector<Extent2>(static_cast<std::size_t>(parts.batch), Extent2{1, 1}))) {}

std::uint64_t DetectTask::next_batch() {
  data::HostDetectionBatch batch = parts_.training.next();
  upload(pixels_, batch.values);
  parts_.model.put_places(places_, padded(), batch.sizes);
  objects_ = objects_in(batch);
  parts_.training.give_back(std::move(batch));
  return 1;
}

std::vector<double> DetectTask::batch_weights() const {
  const models::DetrWeights weights = models::detr_weights(objects_, parts_.model.config());
  return {weights.classes, weights.objects};
}

void DetectTask::weigh(std::span<const double> own, std::span<const double> all) {
  of_each_ = own[0] > 0 ? all[0] / own[0] / std::max(1.0, all[1]) : 0;
}

void DetectTask::forward(Pass& pass) {
  const Tensor pixels = pass.input(pixels_);
  const Tensor read = parts_.dtype == DType::f32 ? pixels : ops::cast(pixels, parts_.dtype);
  output_ = options_.auxiliary ? parts_.model.detect_by_layers(read, places_) : parts_.model.detect(read, places_);
  criterion_.keep(output_);
}

train::Loss DetectTask::loss(Pass&) {
  const models::DetrOutput output = std::exchange(output_, {});
  const models::DetrLosses losses = criterion_.loss(output);
  return {losses.total, losses.parts()};
}

Json DetectTask::position() const { return {{"batch", parts_.training.position()}}; }

void DetectTask::seek(const Json& position) {
  check(position.is_object() && position.contains("batch") && position["batch"].is_number_unsigned(),
        "training: the saved place in the data is damaged");
  parts_.training.seek(position["batch"].get<std::uint64_t>());
}

train::Validation DetectTask::evaluate(data::ValidationDetections& images, world::World& world) const {
  const DetectionEvaluator::Verdict verdict =
      DetectionEvaluator(parts_.model, parts_.backend, parts_.dtype)(images, world);
  const auto& stats = verdict.scores.stats;
  return {.loss = verdict.loss,
          .score = options_.select_by_loss ? -verdict.loss : stats[0],
          .text = fmt::format("validation loss {:.4f}, AP {:.3f}, AP50 {:.3f}", verdict.loss, stats[0], stats[1]),
          .json = verdict.json()};
}

std::vector<train::Example> DetectTask::examples(const train::ExampleLimits& limits) {
  if (!shown_) shown_ = parts_.validation.some(limits.count);
  std::vector<train::Example> examples;
  for (const data::ValidationDetections::Shown& shown : *shown_)
    examples.push_back(detection_example({parts_.model, parts_.backend, parts_.dtype}, shown));
  return examples;
}

}  // namespace attend::train
