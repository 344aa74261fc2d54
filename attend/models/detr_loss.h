// What DETR learns from (Carion et al. 2020, section 3.1): each object of an image gets the query that is closest to
// it, such that all pairs together cost least; that query learns its label and box, and all others learn "no object".
// The matching is the host's, all else the device's, so that it fits around a captured graph:
//
//   output = model.detect_by_layers(pixels, places), criterion.keep(output);   // captured
//   criterion.match(objects);                                                  // on the host
//   loss = criterion.loss(output);                                             // captured, and backward from there
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attend/base/assignment.h"
#include "attend/models/detr.h"

namespace attend::models {

// What is to be found in an image: label i, and its box, centre x, centre y, width, height, from 4 · i on.
struct DetrObjects {
  std::vector<std::int32_t> labels;
  std::vector<float> boxes;
};

// What each query, logits [Q x classes] and boxes [Q x 4], would cost each object: [Q x objects].
std::vector<double> matching_costs(std::span<const float> logits, std::span<const float> boxes,
                                   const DetrObjects& objects, const DetrConfig& config);

struct DetrLosses {
  Tensor total;     // f32 [1]: classes + box_loss · l1 + giou_loss · giou, over all layers
  Tensor classes;   // f32 [1] each
  Tensor l1, giou;  // for the log
  std::vector<std::pair<std::string, Tensor>> parts() const { return {{"class", classes}, {"l1", l1}, {"giou", giou}}; }
};

// What the two means of the loss are means of, known before anything is computed: the weights of all queries' classes,
// and the objects.
struct DetrWeights {
  double classes = 0, objects = 0;
};
DetrWeights detr_weights(std::span<const DetrObjects> images, const DetrConfig& config);

// Of batches of as many images; layers: of the decoder that learn, 1 or all. Its tensors stay where they are.
class DetrCriterion {
 public:
  DetrCriterion(Backend& backend, const DetrConfig& config, std::int64_t layers, std::int64_t images);

  // Copies what the host needs out of the pass.
  void keep(const DetrOutput& output) const;
  // From there: downloads it, matches and uploads the targets. Throws Error for a label that is none, a box that is not
  // a number, and when the model's answers are not numbers any more. of_each: how much each object's box counts; none:
  // all of these together 1.
  void match(std::span<const DetrObjects> images, std::optional<double> of_each = {});
  // In the pass of the output that was kept.
  DetrLosses loss(const DetrOutput& output) const;

  // How many objects too many or too few the last layer finds, in the mean of the images: for people to look at.
  double cardinality_error() const { return cardinality_error_; }
  // Of one layer, image after image.
  const std::vector<std::vector<AssignedPair>>& pairs(std::int64_t layer) const {
    return pairs_[static_cast<std::size_t>(layer)];
  }

 private:
  DetrConfig config_;
  std::int64_t layers_, images_;
  Tensor logits_, boxes_;                // kept: [L · B · Q, ..]
  Tensor labels_, targets_, weights_;    // i32 [L · B · Q], f32 [.., 4] and [.., 2]
  Tensor class_weights_, coefficients_;  // f32 [classes] and [2]
  std::vector<std::vector<std::vector<AssignedPair>>> pairs_;
  double cardinality_error_ = 0;
};

}  // namespace attend::models
