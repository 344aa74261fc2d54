#include "attend/training/draw_judge.h"

#include <algorithm>

#include "attend/base/error.h"
#include "attend/base/joined.h"
#include "attend/tasks/drawer.h"

namespace attend::tasks {

namespace {

constexpr std::size_t kAtOnce = 64;
constexpr std::int64_t kWidestFeatures = 1024;  // eigenvalues of 1024 x 1024 take a minute
constexpr std::uint64_t kJudgedSeed = 0x6a756467;

}  // namespace

DrawJudge::DrawJudge(const std::filesystem::path& folder, Backend& backend, const std::vector<std::string>& classes)
    : encoder_(folder, catalogue::Task::classify_pictures, backend), classes_(classes) {
  const std::vector<std::string>& known = encoder_.model().labels();
  for (const std::string& name : classes)
    check(std::ranges::find(known, name) != known.end(), "{}: the judge knows no class '{}'; it knows {}",
          folder.string(), name, joined(known, ", "));
}

void DrawJudge::Spread::add(const std::vector<float>& vector) {
  mean.resize(vector.size());
  ++count;
  for (std::size_t i = 0; i < vector.size(); ++i) {
    const double value = static_cast<double>(vector[i]), before = value - mean[i];
    mean[i] += before / static_cast<double>(count);
    squares += before * (value - mean[i]);
  }
}

void DrawJudge::look(const std::vector<image::Image>& pictures, const std::vector<std::size_t>& classes,
                     Seen& seen) const {
  seen.of_class.resize(classes_.size());
  const std::vector<std::vector<float>> features = encoder_.features(pictures);
  for (std::size_t i = 0; i < features.size(); ++i) {
    check(static_cast<std::int64_t>(features[i].size()) <= kWidestFeatures,
          "judge: its features have {} numbers; only up to {} are compared", features[i].size(), kWidestFeatures);
    seen.all.add(features[i]);
    seen.of_class.at(classes[i]).add(features[i]);
  }
}

void DrawJudge::see(const data::LabelledPictures& pictures, const std::vector<std::int64_t>& numbers) {
  Seen seen;
  std::vector<image::Image> batch;
  std::vector<std::size_t> classes;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    batch.push_back(encoder_.prepare(pictures.read(numbers[i])));
    classes.push_back(static_cast<std::size_t>(pictures.label(numbers[i])));
    if (batch.size() < kAtOnce && i + 1 < numbers.size()) continue;
    look(batch, classes, seen);
    batch.clear(), classes.clear();
  }
  real_ = seen.all.gaussian();
  real_variances_.clear();
  for (const Spread& each : seen.of_class) real_variances_.push_back(each.variance());
}

DrawJudge::Verdict DrawJudge::operator()(const models::Sagan& model, DType dtype, std::int64_t drawings) const {
  check(real_.has_value(), "judge: it has seen no real pictures");
  Seen seen;
  std::vector<std::int64_t> recognised(classes_.size()), all(classes_.size());
  for (std::int64_t done = 0; done < drawings;) {
    const std::int64_t count = std::min<std::int64_t>(kAtOnce, drawings - done);
    std::vector<DrawingPlan> plans;
    std::vector<std::size_t> classes;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto number = static_cast<std::size_t>(done + i);
      plans.push_back({noise_row(kJudgedSeed, number, model.config().noise_size), std::vector<float>(classes_.size())});
      plans.back().classes[classes.emplace_back(number % classes_.size())] = 1;
    }
    std::vector<image::Image> pictures;
    for (const image::Image& drawn : draw(model, encoder_.backend(), dtype, plans))
      pictures.push_back(encoder_.prepare(drawn));
    look(pictures, classes, seen);
    const std::vector<Classified> labelled = encoder_.classify(pictures, 1);
    for (std::size_t i = 0; i < labelled.size(); ++i)
      ++all[classes[i]], recognised[classes[i]] += labelled[i].labels.at(0).label == classes_[classes[i]];
    done += count;
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

}  // namespace attend::tasks
