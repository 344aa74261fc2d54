// Whether a model computes here what it computed elsewhere: a folder that holds expected.safetensors beside the model,
// with inputs (input_ids, attention_mask, token_type_ids, labels, ...) and what they should lead to (logits, loss,
// hidden.N, attention.N, grad.PARAMETER, greedy, beam4, ...), all of it without dropout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "attend/nn/parameters.h"
#include "attend/tensor/shape.h"

namespace attend::verify {

struct VerifyOptions {
  // Of a tensor's largest value. What a search finds must be equal in f32; with numbers or weights of fewer bits two
  // tokens that are nearly as likely change places, and so great a share of all may be others.
  double tolerance = 1e-4;
  DType dtype = DType::f32;
  // Packed ones cannot be trained: then losses and gradients are left out.
  nn::WeightForm weights = nn::WeightForm::plain;
};

struct VerifiedTensor {
  enum Verdict : std::uint8_t { same, beyond, not_produced };
  std::string name;
  Shape shape;
  double error = 0;     // the largest absolute one; of integers, how many differ
  double relative = 0;  // to the largest value of the tensor, or to what the note says
  Verdict verdict = same;
  std::string note = {};
};

struct VerifyReport {
  std::string architecture;
  std::vector<VerifiedTensor> tensors;  // inputs are not among them; in the order of the file

  std::size_t count(VerifiedTensor::Verdict verdict) const;
  bool passed() const { return count(VerifiedTensor::same) == tensors.size(); }
};

// Throws Error for a folder without what it takes, and for a kind of model that is not known, naming those that are.
VerifyReport verify(const std::filesystem::path& folder, Backend& backend, const VerifyOptions& options = {});

}  // namespace attend::verify
