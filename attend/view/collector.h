// Keeps the attention weights of a pass, by label, on the host.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attend/tensor/pass.h"

namespace attend::view {

struct AttentionWeights {
  Shape shape;  // [B, H, T, S]
  std::vector<float> values;

  // The T x S weights of one head, or of all heads averaged (head -1).
  std::vector<float> matrix(std::int64_t batch, std::int64_t head = -1) const;
};

class Collector : public Probe {
 public:
  Collector() = default;
  // Keeps one label and does not download the others.
  explicit Collector(std::string only) : only_(std::move(only)) {}

  void attention(std::string_view label, const Tensor& weights) override;
  const AttentionWeights& at(const std::string& label) const;
  const std::map<std::string, AttentionWeights>& all() const { return weights_; }

 private:
  std::string only_;
  std::map<std::string, AttentionWeights> weights_;
};

}  // namespace attend::view
