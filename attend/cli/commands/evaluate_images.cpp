// attend evaluate for models of images: labels, boxes, sentences.
#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "attend/base/error.h"
#include "attend/base/progress.h"
#include "attend/cli/support/evaluation.h"
#include "attend/data/images/captioned_images.h"
#include "attend/data/images/detection_sets.h"
#include "attend/data/images/image_batches.h"
#include "attend/data/images/labelled_images.h"
#include "attend/image/decode.h"
#include "attend/metrics/captions.h"
#include "attend/metrics/confusion.h"
#include "attend/metrics/detection.h"
#include "attend/tasks/describer.h"
#include "attend/tasks/detector.h"
#include "attend/tasks/image_encoder.h"
#include "attend/train/recipes/images/image_task.h"

namespace attend::cli {

namespace {

std::vector<std::int64_t> first_numbers(std::int64_t count) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

Progress image_progress(const EvaluatedModel& model, const char* label, std::int64_t total) {
  return Progress(model.streams.err, {.label = label, .total = total, .terminal = model.streams.err_terminal});
}

// What is there and what was found in one image, by those who are sure enough.
WorstExample compared(const data::DetectionSet& set, std::int64_t image, const std::vector<tasks::Detected>& found) {
  constexpr float kSure = 0.5f;
  constexpr double kOverlap = 0.5;
  const data::Instances truth = set.truth({image});
  std::vector<bool> taken(truth.objects.size());
  std::int64_t there = 0, met = 0, alarms = 0;
  for (const data::TrueObject& object : truth.objects) there += !object.crowd;
  for (const tasks::Detected& one : found) {
    if (one.score < kSure) continue;
    std::size_t best = truth.objects.size();
    double overlap = kOverlap;
    for (std::size_t i = 0; i < truth.objects.size(); ++i) {
      const data::TrueObject& object = truth.objects[i];
      const double here = metrics::box_iou(one.box, object.box, object.crowd);
      if (object.category == one.label && !taken[i] && here >= overlap) best = i, overlap = here;
    }
    if (best == truth.objects.size()) {
      ++alarms;
    } else if (!truth.objects[best].crowd) {
      taken[best] = true, ++met;
    }
  }
  const std::string file = set.name(image);
  return {static_cast<double>(there - met + alarms),
          {{"file", file}, {"objects", there}, {"found", met}, {"false_alarms", alarms}},
          fmt::format("{}: {} of {} objects found, {} boxes around nothing", file, met, there, alarms)};
}

}  // namespace

Evaluation evaluate_images(const EvaluatedModel& model) {
  model.expect_files(1, 1, "labelled images: a folder, a csv, MNIST's files");
  const EvaluateOptions& options = model.options;
  const tasks::ImageEncoder encoder(options.model, catalogue::Task::classify_images, model.backend, options.format());
  const std::vector<std::string>& labels = encoder.model().labels();
  check(encoder.model().problem() == models::ProblemType::single_label,
        "evaluate: {} is for {}; only models that give an image one label are evaluated", options.model,
        name_of(encoder.model().problem()));
  const data::LabelledImages images(options.data[0], {.classes = labels, .unseen = true});
  data::ImageReader reader(images, {.cache_bytes = 0});
  data::ValidationImages once(reader, first_numbers(images.size()), encoder.preprocessor().config(),
                              {.batch = options.batch});
  const auto verdict = train::ImageEvaluator(encoder.model(), model.backend, options.type(),
                                             {.flip = options.test_time_flip, .shift = options.test_time_shift})(once);
  metrics::Confusion confusion(labels);
  confusion.add(verdict.truth, verdict.predicted);
  Evaluation result{.json = verdict.json(),
                    .text = fmt::format("{} images: accuracy {:.2f} %, top-5 {:.2f} %, loss {:.4f}", verdict.images,
                                        100 * verdict.top1, 100 * verdict.top5, verdict.loss),
                    .table = confusion.text()};
  result.json.update(confusion.json());
  for (std::size_t i = 0; i < verdict.truth.size(); ++i) {
    if (verdict.truth[i] == verdict.predicted[i]) continue;
    const std::string file = images.name(static_cast<std::int64_t>(i));
    const std::string &said = labels[static_cast<std::size_t>(verdict.predicted[i])],
                      &truth = labels[static_cast<std::size_t>(verdict.truth[i])];
    result.worst.push_back(
        {static_cast<double>(verdict.sure[i]),
         {{"file", file}, {"said", said}, {"truth", truth}, {"probability", verdict.sure[i]}},
         fmt::format("{}: {:.1f} % sure of {}, but it is {}", file, 100 * verdict.sure[i], said, truth)});
  }
  return result;
}

Evaluation evaluate_detection(const EvaluatedModel& model) {
  model.expect_files(1, 1, "COCO's instances_*.json, or Penn-Fudan's folder");
  const tasks::Detector detector(model.options.model, model.backend, model.options.format());
  data::DetectionSet set(model.options.data[0], {.images = model.options.images});
  set.use_classes(detector.labels());
  std::vector<data::Detection> detections;
  Evaluation result;
  Progress progress = image_progress(model, "detecting", set.size());
  constexpr std::int64_t kTogether = 4;
  for (std::int64_t begin = 0; begin < set.size(); begin += kTogether) {
    std::vector<image::Image> prepared;
    std::vector<image::PixelSize> sizes;
    const std::int64_t end = std::min(begin + kTogether, set.size());
    for (std::int64_t i = begin; i < end; ++i) {
      prepared.push_back(detector.prepare(set.read(i)));
      // Boxes are in the pixels of the file of annotations, which may be larger than the image.
      sizes.push_back({static_cast<int>(set.image(i).width), static_cast<int>(set.image(i).height)});
    }
    const auto found = detector.detect(prepared, sizes, 0);
    for (std::int64_t i = begin; i < end; ++i) {
      const auto& here = found[static_cast<std::size_t>(i - begin)];
      for (const tasks::Detected& one : here)
        detections.push_back({i, one.label, one.box, static_cast<double>(one.score)});
      if (WorstExample example = compared(set, i, here); example.badness > 0)
        result.worst.push_back(std::move(example));
    }
    progress.update(end);
  }
  if (model.streams.err_terminal.interactive) progress.finish();
  const data::Instances truth = set.truth(first_numbers(set.size()));
  const metrics::DetectionScores scores = metrics::coco_scores(truth, detections);
  Json classes = Json::array();
  result.table = fmt::format("{:<20} {:>7} {:>6}\n", "label", "count", "AP");
  for (std::size_t k = 0; k < truth.categories.size(); ++k) {
    const auto count = std::ranges::count(truth.objects, truth.categories[k].id, &data::TrueObject::category);
    if (count == 0) continue;
    result.table += fmt::format("{:<20} {:>7} {:>6.3f}\n", truth.categories[k].name, count, scores.per_category[k]);
    classes.push_back({{"label", truth.categories[k].name}, {"count", count}, {"ap", scores.per_category[k]}});
  }
  result.json = {{"images", set.size()},    {"ap", scores.stats[0]}, {"ap50", scores.stats[1]},
                 {"ap75", scores.stats[2]}, {"stats", scores.stats}, {"labels", std::move(classes)}};
  result.text = fmt::format("{} images: AP {:.3f}, AP50 {:.3f}, AP75 {:.3f}", set.size(), scores.stats[0],
                            scores.stats[1], scores.stats[2]);
  return result;
}

Evaluation evaluate_captions(const EvaluatedModel& model) {
  model.expect_files(1, 1, "a file of captions: COCO's .json or Flickr's token.txt");
  const data::CaptionedImages set =
      data::read_captioned_images(model.options.data[0], {.images = model.options.images});
  if (!set.left_out.empty()) model.streams.err << "attend: " << set.left_out << '\n';
  const auto describer = tasks::load_describer(model.options.model, model.backend, model.options.format());
  std::vector<metrics::Captioned> all;
  std::vector<std::string> written;
  Progress progress = image_progress(model, "describing", set.size());
  for (std::int64_t begin = 0; begin < set.size(); begin += model.options.batch) {
    std::vector<image::Image> prepared;
    const std::int64_t end = std::min(begin + model.options.batch, set.size());
    for (std::int64_t i = begin; i < end; ++i)
      prepared.push_back(describer->prepare(*image::open_rows(set.root / set.files[static_cast<std::size_t>(i)])));
    for (const tasks::Description& each : describer->describe(prepared, {.beams = model.options.beams})) {
      all.push_back(metrics::captioned(each.text, set.captions[all.size()]));
      written.push_back(each.text);
    }
    progress.update(end);
  }
  if (model.streams.err_terminal.interactive) progress.finish();
  const metrics::CaptionScores scores = metrics::caption_scores(all);
  Evaluation result{.json = {{"images", set.size()},
                             {"bleu", scores.bleu},
                             {"bleu4", scores.bleu[3]},
                             {"rouge_l", scores.rouge_l},
                             {"cider", scores.cider}},
                    .text = fmt::format("{} images: BLEU-4 {:.2f}, ROUGE-L {:.3f}, CIDEr {:.3f}", set.size(),
                                        100 * scores.bleu[3], scores.rouge_l, scores.cider)};
  for (std::size_t i = 0; i < all.size(); ++i)
    result.worst.push_back({-scores.cider_of[i],
                            {{"file", set.files[i]},
                             {"caption", written[i]},
                             {"reference", set.captions[i][0]},
                             {"cider", scores.cider_of[i]}},
                            fmt::format("{}, CIDEr {:.3f}\n  wrote      {}\n  should be  {}", set.files[i],
                                        scores.cider_of[i], written[i], set.captions[i][0])});
  return result;
}

}  // namespace attend::cli
