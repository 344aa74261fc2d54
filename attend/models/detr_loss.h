// The training loss of DETR (Carion et al. 2020, section 3.1). Each object of an image is matched to one query, such
// that the total cost of all pairs is least. A matched query learns the object's label and box; all others learn "no
// object". The matching runs on the host and the rest on the device, so that it fits around a captured graph:
//
//   output = model.detect_by_layers(pixels, places), criterion.keep(output);   // captured
//   criterion.match(objects);                                                  // on the host
//   loss = criterion.loss(output);                                             // captured, then backward
//
// Shapes: L decoder layers, B images, Q queries.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attend/base/assignment.h"
#include "attend/models/detr.h"

namespace attend::models {

// The objects of an image: label i and its box (centre x, centre y, width, height) from 4·i on.
struct DetrObjects {
  std::vector<std::int32_t> labels;
  std::vector<float> boxes;
};

// The cost of matching each query to each object, [Q, objects], from logits [Q, classes] and boxes [Q, 4].
std::vector<double> matching_costs(std::span<const float> logits, std::span<const float> boxes,
                                   const DetrObjects& objects, const DetrConfig& config);

struct DetrLosses {
  Tensor total;     // f32 [1]: classes + box_loss · l1 + giou_loss · giou, over all layers
  Tensor classes;   // f32 [1], without weights
  Tensor l1, giou;  // for the log
  std::vector<std::pair<std::string, Tensor>> parts() const { return {{"class", classes}, {"l1", l1}, {"giou", giou}}; }
};

// The denominators of the two means in the loss: the class weights of all queries, and the number of objects. They are
// known before the forward pass.
struct DetrWeights {
  double classes = 0, objects = 0;
};
DetrWeights detr_weights(std::span<const DetrObjects> images, const DetrConfig& config);

// The loss for batches of a fixed number of images. layers is how many decoder layers learn: 1 or all. Its tensors keep
// their memory, as captured graphs need.
class DetrCriterion {
 public:
  DetrCriterion(Backend& backend, const DetrConfig& config, std::int64_t layers, std::int64_t images);

  // Copies what the host needs for matching out of the pass.
  void keep(const DetrOutput& output) const;
  // Downloads what keep() copied, matches, and uploads the targets. Throws Error for an unknown label, a box that is
  // not finite, and predictions that are not numbers. of_each is the weight of each object's box; by default all
  // weights sum to 1.
  void match(std::span<const DetrObjects> images, std::optional<double> of_each = {});
  // The loss of the output that keep() saw, in the same pass.
  DetrLosses loss(const DetrOutput& output) const;

  // The mean over images of how many objects too many or too few the last layer finds. It is for logs only.
  double cardinality_error() const { return cardinality_error_; }
  // The matched pairs of one layer, one list per image.
  const std::vector<std::vector<AssignedPair>>& pairs(std::int64_t layer) const {
    return pairs_[static_cast<std::size_t>(layer)];
  }

 private:
  DetrConfig config_;
  std::int64_t layers_, images_;
  Tensor logits_, boxes_;                // copies: [L·B·Q, classes] and [L·B·Q, 4]
  Tensor labels_, targets_, weights_;    // i32 [L·B·Q], f32 [L·B·Q, 4] and [L·B·Q, 2]
  Tensor class_weights_, coefficients_;  // f32 [classes] and [2]
  std::vector<std::vector<std::vector<AssignedPair>>> pairs_;
  double cardinality_error_ = 0;
};

}  // namespace attend::models
