#include "attend/train/recipes/automatic/probe.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "attend/base/error.h"
#include "attend/base/joined.h"
#include "attend/data/images/labelled_images.h"
#include "attend/tasks/image_encoder.h"
#include "attend/tasks/model_folder.h"

namespace attend::train {

namespace {

using Rows = std::vector<std::vector<float>>;

// Each column with mean 0 and deviation 1.
void standardise(Rows& rows) {
  for (std::size_t column = 0; column < rows[0].size(); ++column) {
    double sum = 0, squares = 0;
    for (const auto& row : rows) sum += static_cast<double>(row[column]);
    const double mean = sum / static_cast<double>(rows.size());
    for (const auto& row : rows) squares += std::pow(static_cast<double>(row[column]) - mean, 2);
    const double deviation = std::sqrt(squares / static_cast<double>(rows.size())) + 1e-6;
    for (auto& row : rows) row[column] = static_cast<float>((static_cast<double>(row[column]) - mean) / deviation);
  }
}

class Linear {
 public:
  Linear(std::size_t classes, std::size_t width) : weights_(classes, std::vector<float>(width + 1)) {}

  std::vector<float> scores(const std::vector<float>& x) const {
    std::vector<float> scores;
    for (const auto& row : weights_) scores.push_back(std::inner_product(x.begin(), x.end(), row.begin(), row.back()));
    return scores;
  }
  // One step of gradient descent on the cross entropy.
  void learn(const std::vector<float>& x, std::size_t label, float rate) {
    std::vector<float> p = scores(x);
    const float most = *std::ranges::max_element(p);
    float sum = 0;
    for (float& one : p) sum += one = std::exp(one - most);
    for (std::size_t k = 0; k < p.size(); ++k) {
      const float step = rate * (p[k] / sum - (k == label ? 1.0f : 0.0f));
      for (std::size_t i = 0; i < x.size(); ++i) weights_[k][i] -= step * x[i];
      weights_[k].back() -= step;
    }
  }

 private:
  std::vector<std::vector<float>> weights_;  // a bias behind each
};

std::string numbers_text(const Json& list) {
  std::vector<std::string> numbers;
  for (const Json& one : list) numbers.push_back(fmt::format("{}", one.get<double>()));
  return joined(numbers, ",");
}

Json pixels_of(const std::filesystem::path& folder) {
  const Json json = read_json(folder / "preprocessor_config.json");
  if (!json.contains("image_mean") || !json.contains("image_std")) return Json::object();
  return {{"mean", numbers_text(json["image_mean"])}, {"std", numbers_text(json["image_std"])}};
}

Rows features_of(const tasks::ImageEncoder& encoder, const data::LabelledImages& images,
                 const std::vector<std::int64_t>& chosen) {
  constexpr std::size_t kBatch = 16;
  Rows features;
  for (std::size_t first = 0; first < chosen.size(); first += kBatch) {
    std::vector<image::Image> batch;
    for (std::size_t i = first; i < std::min(first + kBatch, chosen.size()); ++i)
      batch.push_back(encoder.prepare(images.read(chosen[i])));
    for (std::vector<float>& one : encoder.features(batch)) features.push_back(std::move(one));
  }
  return features;
}

}  // namespace

double linear_accuracy(const Rows& given, const std::vector<std::int32_t>& labels) {
  check(given.size() == labels.size(), "a probe has {} vectors and {} labels", given.size(), labels.size());
  if (given.size() < 2) return 0;
  Rows features = given;
  standardise(features);
  const auto classes = static_cast<std::size_t>(*std::ranges::max_element(labels)) + 1;
  std::vector<std::size_t> half;  // of each vector: every other one of a class is in the first
  std::map<std::int32_t, std::size_t> seen;
  for (const std::int32_t label : labels) half.push_back(seen[label]++ % 2);
  constexpr int kPasses = 30;
  constexpr float kRate = 0.02f;
  std::size_t right = 0;
  for (const std::size_t learned : {0u, 1u}) {
    Linear classifier(classes, features[0].size());
    // A stride that is prime to most sizes mixes the classes, which lie behind one another.
    const std::size_t count = features.size(), stride = count % 101 ? 101 : 103;
    for (int pass = 0; pass < kPasses; ++pass)
      for (std::size_t i = 0, at = 0; i < count; ++i, at = (at + stride) % count)
        if (half[at] == learned)
          classifier.learn(features[at], static_cast<std::size_t>(labels[at]), kRate / (1 + 0.1f * pass));
    for (std::size_t i = 0; i < count; ++i) {
      if (half[i] == learned) continue;
      const std::vector<float> scores = classifier.scores(features[i]);
      right += std::ranges::max_element(scores) - scores.begin() == labels[i] ? 1 : 0;
    }
  }
  return static_cast<double>(right) / static_cast<double>(features.size());
}

namespace {

bool has_key(const models::ImageModel& model, std::string_view key) {
  const std::vector<std::string> keys = model.keys();
  return std::ranges::find(keys, key) != keys.end();
}

}  // namespace

std::vector<Probed> probe_images(const std::filesystem::path& train, const std::vector<std::string>& models,
                                 Backend& backend) {
  constexpr std::int64_t kImages = 300;
  const data::LabelledImages images(train);
  std::vector<std::int64_t> chosen;
  std::vector<std::int32_t> labels;
  const std::int64_t count = std::min(images.size(), kImages);
  for (std::int64_t i = 0; i < count; ++i) chosen.push_back(i * images.size() / count);  // of every class its share
  for (const std::int64_t i : chosen) labels.push_back(images.label(i));
  std::vector<Probed> probed;
  for (const std::string& model : models) {
    try {
      const std::filesystem::path folder = tasks::find_model(model);
      const tasks::ImageEncoder encoder(folder, catalogue::Task::embed_images, backend);
      probed.push_back({.model = model,
                        .accuracy = linear_accuracy(features_of(encoder, images, chosen), labels),
                        .size = encoder.model().size().h,
                        .pixels = pixels_of(folder),
                        .drops_layers = has_key(encoder.model(), "drop_path_rate")});
    } catch (const Error&) {  // a broken image, or a model that is not there: the run itself says more
    }
  }
  std::ranges::stable_sort(probed, std::ranges::greater{}, &Probed::accuracy);
  return probed;
}

}  // namespace attend::train
