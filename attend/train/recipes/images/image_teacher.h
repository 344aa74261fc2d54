// Distillation (Hinton et al. 2015; Touvron et al. 2021, "DeiT", section 4): a student learns labels, and also what a
// teacher, a trained model, sees in the same augmented images.
//   hard   (1 - weight) · CE(z, y) + weight · CE(z, argmax t)
//   soft   (1 - weight) · CE(z, y) + weight · τ² · CE(z / τ, softmax(t / τ))
// z are the student's logits, t the teacher's.
#pragma once

#include <filesystem>

#include "attend/image/preprocessor_config.h"
#include "attend/tasks/image_encoder.h"
#include "attend/tensor/pass.h"
#include "attend/tensor/step_graph.h"

namespace attend::train {

struct DistillationOptions {
  bool hard = true;
  float weight = 0.5f, temperature = 3;
};

// The mean over rows of -Σ p log softmax(z).   logits z [B, V], probabilities p [B, V]   ->   f32 [1]
Tensor soft_cross_entropy(const Tensor& logits, const Tensor& probabilities);

class ImageTeacher {
 public:
  struct Student {
    const models::ImageModel& model;
    const image::PreprocessorConfig& images;
    Backend& backend;
    DType dtype;  // what both compute in
  };
  // Throws Error unless the teacher reads the student's images (size and normalisation) and has its labels in their
  // order.
  ImageTeacher(const std::filesystem::path& folder, const Student& student, const DistillationOptions& options);

  // Looks at a batch, f32 [B, H, W, 3]. It must be the same tensor every time, with other pixels.
  void look(const Tensor& pixels);
  // The loss of the student's logits [B, V], given that of the labels.
  Tensor loss(const Tensor& logits, const Tensor& of_labels) const;

 private:
  DistillationOptions options_;
  tasks::ImageEncoder encoder_;
  DType dtype_;
  Tensor labels_, probabilities_;  // what it saw: i32 [B], f32 [B, V]
  Pass pass_;                      // its own: neither recorded nor with dropout
  StepGraph graph_;
};

}  // namespace attend::train
