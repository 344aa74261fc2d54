// Which bundled model sees most in a user's images: a linear classifier on the features of each model learns from half
// of some images and is tried on the other half (Alain and Bengio 2016). It takes seconds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "attend/base/json.h"
#include "attend/tensor/backend.h"

namespace attend::train {

struct Probed {
  std::string model;             // as --from names it
  double accuracy = 0;           // of images that its linear classifier did not learn from
  std::int64_t size = 32;        // of the images that the model was trained on
  Json pixels = Json::object();  // how it normalises them, as settings of a recipe: mean, std
  bool drops_layers = true;      // it has stochastic depth
};

// The models whose folders are there and read images, best first. train: as data::LabelledImages reads it.
std::vector<Probed> probe_images(const std::filesystem::path& train, const std::vector<std::string>& models,
                                 Backend& backend);

// The share of features that a softmax classifier tells apart, trained on every other one of a class; two ways round.
double linear_accuracy(const std::vector<std::vector<float>>& features, const std::vector<std::int32_t>& labels);

}  // namespace attend::train
