#include "attend/training/detect_task.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "attend/base/error.h"
#include "attend/ops/arithmetic.h"
#include "attend/tasks/detector.h"
#include "attend/training/reading_examples.h"

namespace attend::tasks {

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

Json DetectionJudge::Verdict::json() const {
  return {{"pictures", pictures},
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

models::DetrOutput DetectionJudge::answers(Pass& pass, const data::HostDetectionBatch& batch) const {
  const auto count = static_cast<std::int64_t>(batch.items.size());
  const Tensor pixels = make_tensor(backend_, {count, batch.side, batch.side, 3}, DType::f32);
  upload(pixels, batch.values);
  const models::DetrPlaces places = model_.places(backend_, dtype_, {batch.side, batch.side}, batch.sizes);
  return model_.detect(pass.input(dtype_ == DType::f32 ? pixels : ops::cast(pixels, dtype_)), places);
}

DetectionJudge::Verdict DetectionJudge::operator()(data::ValidationDetections& pictures) const {
  Verdict verdict;
  std::vector<metrics::Detection> detections;
  const data::DetectionSet& set = pictures.source().set;
  Pass pass(backend_);
  pictures.for_each([&](const data::HostDetectionBatch& batch) {
    const models::DetrOutput output = answers(pass, batch);
    const std::size_t count = batch.items.size();
    models::DetrCriterion criterion(backend_, model_.config(), 1, static_cast<std::int64_t>(count));
    criterion.keep(output);
    criterion.match(objects_in(batch));
    const models::DetrLosses losses = criterion.loss(output);
    const auto add = [&](double& sum, const Tensor& mean) {
      sum += static_cast<double>(download(mean)[0]) * static_cast<double>(count);
    };
    add(verdict.loss, losses.total), add(verdict.classes, losses.classes);
    add(verdict.l1, losses.l1), add(verdict.giou, losses.giou);
    const std::vector<float> logits = download(output.logits), boxes = download(output.boxes);
    for (std::size_t i = 0; i < count; ++i) {
      const auto of = [&](const std::vector<float>& all) {
        return std::span(all).subspan(i * (all.size() / count), all.size() / count);
      };
      const metrics::CocoPicture& picture = set.picture(batch.items[i]);
      const DetectedIn whole{static_cast<double>(picture.width), static_cast<double>(picture.height)};
      for (const Detected& found : detected(of(logits), of(boxes), whole))
        detections.push_back({.image = batch.items[i],
                              .category = found.label,
                              .box = found.box,
                              .score = static_cast<double>(found.score)});
    }
    verdict.pictures += static_cast<std::int64_t>(count);
  });
  const double all = static_cast<double>(std::max<std::int64_t>(verdict.pictures, 1));
  for (double* mean : {&verdict.loss, &verdict.classes, &verdict.l1, &verdict.giou}) *mean /= all;
  verdict.scores = metrics::coco_scores(set.truth(pictures.source().items), detections);
  return verdict;
}

DetectTask::DetectTask(const Parts& parts, const Options& options)
    : parts_(parts),
      options_(options),
      criterion_(parts.backend, parts.model.config(),
                 options.auxiliary ? parts.model.config().decoder_layers : std::int64_t{1}, parts.batch),
      pixels_(make_tensor(parts.backend, {parts.batch, parts.image_size, parts.image_size, 3}, DType::f32)),
      // Of pictures that are padded, so that there is room for an order even in a batch of one.
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

train::Validation DetectTask::judge(data::ValidationDetections& pictures) const {
  const DetectionJudge::Verdict verdict = DetectionJudge(parts_.model, parts_.backend, parts_.dtype)(pictures);
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

}  // namespace attend::tasks
