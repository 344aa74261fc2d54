// The matching and the loss of DETR (Carion et al. 2020, section 3.1 and appendix A.2).
#include "attend/models/detr_loss.h"

#include <algorithm>
#include <cmath>

#include "attend/base/error.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/boxes.h"
#include "attend/ops/layout.h"
#include "attend/ops/reduce.h"
#include "attend/ops/softmax.h"
#include "attend/tensor/backend.h"
#include "attend/tensor/boxes.h"

namespace attend::models {

namespace {

void check_objects(const DetrObjects& objects, std::size_t image, std::int64_t labels) {
  check(objects.boxes.size() == 4 * objects.labels.size(), "detr: image {} has {} labels and {} numbers of boxes",
        image, objects.labels.size(), objects.boxes.size());
  for (const std::int32_t label : objects.labels)
    check(label >= 0 && label < labels, "detr: image {} has label {}; the model's are 0 to {}", image, label,
          labels - 1);
  for (std::size_t i = 0; i < objects.boxes.size(); ++i)
    check(std::isfinite(objects.boxes[i]) && (i % 4 < 2 || objects.boxes[i] >= 0),
          "detr: image {} has a box with {} as its {}", image, objects.boxes[i],
          i % 4 < 2 ? "centre" : "width or height");
}

// Class probabilities of a query, in double because the matching compares them.
std::vector<double> softmax(std::span<const float> logits) {
  const double largest = static_cast<double>(*std::ranges::max_element(logits));
  std::vector<double> shares;
  double sum = 0;
  for (const float logit : logits) {
    shares.push_back(std::exp(static_cast<double>(logit) - largest));
    sum += shares.back();
  }
  for (double& share : shares) share /= sum;
  return shares;
}

// Counts the queries whose best class is not "no object"; that class is the last.
std::int64_t found_objects(std::span<const float> logits, std::size_t classes) {
  std::int64_t found = 0;
  for (std::size_t at = 0; at < logits.size(); at += classes) {
    const auto row = logits.subspan(at, classes);
    found += std::ranges::max_element(row) - row.begin() != static_cast<std::ptrdiff_t>(classes) - 1;
  }
  return found;
}

}  // namespace

std::vector<double> matching_costs(std::span<const float> logits, std::span<const float> boxes,
                                   const DetrObjects& objects, const DetrConfig& config) {
  const std::size_t count = objects.labels.size(), queries = boxes.size() / 4;
  check(queries > 0 && logits.size() % queries == 0, "detr: {} logits for {} boxes", logits.size(), queries);
  const std::size_t classes = logits.size() / queries;
  const std::vector<double> targets(objects.boxes.begin(), objects.boxes.end());
  std::vector<double> costs;
  for (std::size_t q = 0; count > 0 && q < queries; ++q) {
    const std::vector<double> shares = softmax(logits.subspan(q * classes, classes));
    const std::vector<double> box(boxes.begin() + static_cast<std::ptrdiff_t>(4 * q),
                                  boxes.begin() + static_cast<std::ptrdiff_t>(4 * q + 4));
    for (std::size_t i = 0; i < count; ++i) {
      const double* target = targets.data() + 4 * i;
      // Equation 1's pair cost: - p(label) + L1 and GIoU of the boxes, each with its weight.
      costs.push_back(static_cast<double>(config.box_cost) * boxes::l1_distance(box.data(), target) -
                      static_cast<double>(config.class_cost) * shares[static_cast<std::size_t>(objects.labels[i])] -
                      static_cast<double>(config.giou_cost) *
                          boxes::giou(boxes::corners(box.data()), boxes::corners(target)));
    }
  }
  return costs;
}

// A matched query counts 1 and an unmatched one no_object, as in the weighted cross entropy.
DetrWeights detr_weights(std::span<const DetrObjects> images, const DetrConfig& config) {
  DetrWeights weights;
  for (const DetrObjects& image : images) {
    const auto objects = static_cast<std::int64_t>(image.labels.size());
    const std::int64_t matched = std::min(objects, config.queries);
    weights.objects += static_cast<double>(objects);
    weights.classes += static_cast<double>(matched) +
                       static_cast<double>(config.no_object) * static_cast<double>(config.queries - matched);
  }
  return weights;
}

DetrCriterion::DetrCriterion(Backend& backend, const DetrConfig& config, std::int64_t layers, std::int64_t images)
    : config_(config), layers_(layers), images_(images) {
  check(layers > 0 && images > 0, "detr: a loss of {} layers and {} images", layers, images);
  const std::int64_t rows = layers * images * config.queries, classes = config.classes();
  logits_ = make_tensor(backend, {rows, classes}, DType::f32);
  boxes_ = make_tensor(backend, {rows, 4}, DType::f32);
  labels_ = make_tensor(backend, {rows}, DType::i32);
  targets_ = make_tensor(backend, {rows, 4}, DType::f32);
  weights_ = make_tensor(backend, {rows, 2}, DType::f32);
  class_weights_ = make_tensor(backend, {classes}, DType::f32);
  coefficients_ = make_tensor(backend, {2}, DType::f32);
  std::vector<float> by_class(static_cast<std::size_t>(classes), 1.0f);
  by_class.back() = config.no_object;
  upload(class_weights_, by_class);
  upload(coefficients_, std::vector<float>{config.box_loss, config.giou_loss});
}

void DetrCriterion::keep(const DetrOutput& output) const {
  check(output.logits.size() == logits_.size() && output.boxes.size() == boxes_.size(),
        "detr: a loss of {} layers and {} images, but the output is {}", layers_, images_, output.logits.shape());
  output.logits.backend().scale(output.logits.reshape(logits_.shape()), 1, {logits_});
  output.boxes.backend().scale(output.boxes.reshape(boxes_.shape()), 1, {boxes_});
}

void DetrCriterion::match(std::span<const DetrObjects> images, std::optional<double> of_each) {
  check(static_cast<std::int64_t>(images.size()) == images_, "detr: a loss of {} images, but there are {}", images_,
        images.size());
  std::size_t objects = 0;
  for (std::size_t b = 0; b < images.size(); ++b) {
    check_objects(images[b], b, config_.classes() - 1);
    objects += images[b].labels.size();
  }
  const std::vector<float> logits = download(logits_), boxes = download(boxes_);
  const auto queries = static_cast<std::size_t>(config_.queries), classes = static_cast<std::size_t>(config_.classes());
  const auto share = static_cast<float>(of_each.value_or(1 / static_cast<double>(std::max<std::size_t>(1, objects))));
  // A query without an object gets its own box as the target, with weight 0, so its box learns nothing.
  std::vector<std::int32_t> labels(logits.size() / classes, static_cast<std::int32_t>(classes) - 1);
  std::vector<float> targets = boxes, weights(2 * labels.size());
  pairs_.assign(static_cast<std::size_t>(layers_), {});
  for (std::size_t layer = 0; layer < pairs_.size(); ++layer) {
    cardinality_error_ = 0;
    for (std::size_t b = 0; b < images.size(); ++b) {
      const std::size_t first = (layer * images.size() + b) * queries, count = images[b].labels.size();
      const auto answers = std::span(logits).subspan(first * classes, queries * classes);
      const std::vector<double> costs =
          matching_costs(answers, std::span(boxes).subspan(4 * first, 4 * queries), images[b], config_);
      // The Hungarian algorithm finds the pairs with the least total cost.
      auto pairs = linear_sum_assignment(costs, static_cast<int>(queries), static_cast<int>(count));
      for (const auto& [query, object] : pairs) {
        const std::size_t row = first + static_cast<std::size_t>(query), from = static_cast<std::size_t>(object);
        labels[row] = images[b].labels[from];
        std::copy_n(images[b].boxes.begin() + static_cast<std::ptrdiff_t>(4 * from), 4,
                    targets.begin() + static_cast<std::ptrdiff_t>(4 * row));
        weights[2 * row] = weights[2 * row + 1] = share;
      }
      const auto wrong = std::abs(found_objects(answers, classes) - static_cast<std::int64_t>(count));
      cardinality_error_ += static_cast<double>(wrong) / static_cast<double>(images.size());
      pairs_[layer].push_back(std::move(pairs));
    }
  }
  upload(labels_, labels);
  upload(targets_, targets);
  upload(weights_, weights);
}

DetrLosses DetrCriterion::loss(const DetrOutput& output) const {
  // All layers match the same number of objects, so the mean over all layers is the mean of their means.
  const Tensor logits = output.logits.reshape(logits_.shape()), boxes = output.boxes.reshape(boxes_.shape());
  const Tensor mean = ops::cross_entropy(logits, labels_, {.class_weights = class_weights_}).mean;  // [1]
  const Tensor classes = ops::scale(mean, static_cast<float>(layers_));
  const Tensor distances = ops::box_losses(boxes, targets_, weights_);         // [2]: L1, GIoU
  const Tensor placed = ops::sum(ops::multiply(distances, coefficients_), 0);  // [1]
  return {.total = ops::add(classes, placed),
          .classes = classes,
          .l1 = ops::slice(distances, 0, 0, 1),
          .giou = ops::slice(distances, 0, 1, 1)};
}

}  // namespace attend::models
