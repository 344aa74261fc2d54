// What a model costs, from its config.json alone: the model is built without weights and its own forward pass runs on a
// device that only counts (tensor/counting_backend.h). There is no second description of any model.
//
//   const tasks::Cost cost = tasks::cost_of(catalogue::describe(config, path), {.height = 800, .width = 1066});
//   cost.parameters, cost.forward.multiply_adds, cost.forward.activation_bytes
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attend/catalogue/catalogue.h"

namespace attend::tasks {

// The input of the counted pass; 0: what the model was made for. Texts have a length, images a height and a width.
struct CostInput {
  std::int64_t batch = 1, length = 0, height = 0, width = 0;
};
// "512" or "8x512" for texts, "224x224" or "8x224x224" for images. Throws Error for anything else.
CostInput cost_input(const std::string& text);

struct CostPart {
  std::string name;  // of its parameters: "transformer.h", layer 3
  std::int64_t layer = -1;
  std::int64_t parameters = 0;
  double multiply_adds = 0;  // of the forward pass
};

struct Cost {
  struct Pass {
    double multiply_adds = 0;
    std::int64_t activation_bytes = 0;  // in f32: the most that is alive at once, without weights and their gradients
  };
  std::int64_t parameters = 0;  // numbers that are trained
  Pass forward = {};            // inference
  Pass training = {};           // forward and backward
  std::string unit;             // "tokens" or "images"
  std::int64_t units = 0;       // of them in the input
  std::int64_t trained = 0;     // of them in the input and, of a translator, in the translation
  std::string input;            // "1 x 1024 tokens"
  std::vector<CostPart> parts = {};

  double flops() const { return 2 * forward.multiply_adds; }
};

// Throws Error for an input that the model cannot read.
Cost cost_of(const catalogue::ModelConfig& model, const CostInput& input = {});

// "transformer.h.3.attn.c_attn.weight" -> "transformer.h", layer 3; "wte.weight" -> "wte", layer -1.
std::string part_of(const std::string& parameter, std::int64_t& layer);

}  // namespace attend::tasks
