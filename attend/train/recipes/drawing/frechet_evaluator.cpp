#include "attend/train/recipes/drawing/frechet_evaluator.h"

#include <algorithm>

#include "attend/base/error.h"
#include "attend/base/joined.h"
#include "attend/tasks/image_generator.h"
#include "attend/train/loop/shared_batches.h"

namespace attend::train {

namespace {

constexpr std::size_t kAtOnce = 64;
constexpr std::int64_t kWidestFeatures = 1024;  // eigenvalues of 1024 x 1024 take a minute
constexpr std::uint64_t kEvaluationSeed = 0x6a756467;

}  // namespace

FrechetEvaluator::FrechetEvaluator(const std::filesystem::path& folder, Backend& backend,
                                   const std::vector<std::string>& classes)
    : encoder_(folder, catalogue::Task::classify_images, backend), classes_(classes) {
  const std::vector<std::string>& known = encoder_.model().labels();
  for (const std::string& name : classes)
    check(std::ranges::find(known, name) != known.end(), "{}: the evaluator knows no class '{}'; it knows {}",
          folder.string(), name, joined(known, ", "));
}

void FrechetEvaluator::Spread::add(const std::vector<float>& vector) {
  mean.resize(vector.size());
  ++count;
  for (std::size_t i = 0; i < vector.size(); ++i) {
    const double value = static_cast<double>(vector[i]), before = value - mean[i];
    mean[i] += before / static_cast<double>(count);
    squares += before * (value - mean[i]);
  }
}

void FrechetEvaluator::add(const std::vector<float>& features, std::size_t of_class, Seen& seen) const {
  seen.of_class.resize(classes_.size());
  check(static_cast<std::int64_t>(features.size()) <= kWidestFeatures,
        "the feature model: its features have {} numbers; only up to {} are compared", features.size(),
        kWidestFeatures);
  seen.all.add(features);
  seen.of_class.at(of_class).add(features);
}

void FrechetEvaluator::see(const data::LabelledImages& images, const std::vector<std::int64_t>& numbers) {
  Seen seen;
  std::vector<image::Image> batch;
  std::vector<std::size_t> classes;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    batch.push_back(encoder_.prepare(images.read(numbers[i])));
    classes.push_back(static_cast<std::size_t>(images.label(numbers[i])));
    if (batch.size() < kAtOnce && i + 1 < numbers.size()) continue;
    const std::vector<std::vector<float>> features = encoder_.features(batch);
    for (std::size_t k = 0; k < features.size(); ++k) add(features[k], classes[k], seen);
    batch.clear(), classes.clear();
  }
  real_ = seen.all.gaussian();
  real_variances_.clear();
  for (const Spread& each : seen.of_class) real_variances_.push_back(each.variance());
}

std::vector<float> FrechetEvaluator::drawn(const models::Sagan& model, DType dtype, std::size_t first,
                                           std::size_t count) const {
  std::vector<tasks::DrawingPlan> plans;
  for (std::size_t number = first; number < first + count; ++number) {
    plans.push_back(
        {tasks::noise_row(kEvaluationSeed, number, model.config().noise_size), std::vector<float>(classes_.size())});
    plans.back().classes[number % classes_.size()] = 1;
  }
  std::vector<image::Image> images;
  for (const image::Image& drawing : tasks::draw(model, encoder_.backend(), dtype, plans))
    images.push_back(encoder_.prepare(drawing));
  const std::vector<std::vector<float>> features = encoder_.features(images);
  const std::vector<tasks::Classified> labelled = encoder_.classify(images, 1);
  std::vector<float> found;
  for (std::size_t i = 0; i < features.size(); ++i) {
    found.insert(found.end(), features[i].begin(), features[i].end());
    found.push_back(labelled[i].labels.at(0).label == classes_[(first + i) % classes_.size()] ? 1.0f : 0.0f);
  }
  return found;
}

FrechetEvaluator::Verdict FrechetEvaluator::operator()(const models::Sagan& model, DType dtype, std::int64_t drawings,
                                                       world::World& world) const {
  check(real_.has_value(), "the feature model: it has seen no real images");
  const auto all_drawings = static_cast<std::size_t>(drawings);
  const auto count_at = [&](std::size_t batch) { return std::min(kAtOnce, all_drawings - batch * kAtOnce); };
  train::SharedFindings shared(world, (all_drawings + kAtOnce - 1) / kAtOnce);
  for (std::size_t i = 0; i * kAtOnce < all_drawings; ++i) {
    if (!shared.mine(i)) continue;
    const std::vector<float> found = drawn(model, dtype, i * kAtOnce, count_at(i));
    shared.set<float>(i, found);
  }
  Seen seen;
  std::vector<std::int64_t> recognised(classes_.size()), all(classes_.size());
  std::size_t number = 0;
  for (std::size_t batch = 0; const std::string& bytes : shared.all()) {
    const std::vector<float> found = train::values_in<float>(bytes);
    const std::size_t each = found.size() / count_at(batch++);
    for (auto row = found.begin(); row != found.end(); row += static_cast<std::ptrdiff_t>(each), ++number) {
      const auto end = row + static_cast<std::ptrdiff_t>(each) - 1;
      const std::size_t of_class = number % classes_.size();
      add({row, end}, of_class, seen);
      ++all[of_class], recognised[of_class] += *end > 0;
    }
  }
  Verdict verdict{.distance = metrics::frechet_distance(*real_, seen.all.gaussian())};
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    verdict.recognised += static_cast<double>(recognised[i]) / static_cast<double>(drawings);
    verdict.recognised_of.push_back(static_cast<double>(recognised[i]) /
                                    static_cast<double>(std::max<std::int64_t>(all[i], 1)));
    verdict.variety_of.push_back(real_variances_[i] > 0 ? seen.of_class[i].variance() / real_variances_[i] : 0);
  }
  return verdict;
}

}  // namespace attend::train
