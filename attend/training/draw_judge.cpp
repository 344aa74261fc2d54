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

void DrawJudge::look(const std::vector<image::Image>& pictures, metrics::Moments& moments,
                     std::vector<std::string>* labels) const {
  for (const std::vector<float>& features : encoder_.features(pictures)) {
    check(static_cast<std::int64_t>(features.size()) <= kWidestFeatures,
          "judge: its features have {} numbers; only up to {} are compared", features.size(), kWidestFeatures);
    moments.add(features);
  }
  if (!labels) return;
  for (const Classified& seen : encoder_.classify(pictures, 1)) labels->push_back(seen.labels.at(0).label);
}

void DrawJudge::see(const data::LabelledPictures& pictures, const std::vector<std::int64_t>& numbers) {
  metrics::Moments moments;
  std::vector<image::Image> batch;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    batch.push_back(encoder_.prepare(pictures.read(numbers[i])));
    if (batch.size() < kAtOnce && i + 1 < numbers.size()) continue;
    look(batch, moments, nullptr);
    batch.clear();
  }
  real_ = moments.gaussian();
}

DrawJudge::Verdict DrawJudge::operator()(const models::Sagan& model, DType dtype, std::int64_t drawings) const {
  check(real_.has_value(), "judge: it has seen no real pictures");
  metrics::Moments moments;
  std::int64_t recognised = 0;
  for (std::int64_t done = 0; done < drawings;) {
    const std::int64_t count = std::min<std::int64_t>(kAtOnce, drawings - done);
    std::vector<DrawingPlan> plans;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto number = static_cast<std::size_t>(done + i);
      plans.push_back({noise_row(kJudgedSeed, number, model.config().noise_size), std::vector<float>(classes_.size())});
      plans.back().classes[number % classes_.size()] = 1;
    }
    std::vector<image::Image> pictures;
    for (const image::Image& drawn : draw(model, encoder_.backend(), dtype, plans))
      pictures.push_back(encoder_.prepare(drawn));
    std::vector<std::string> labels;
    look(pictures, moments, &labels);
    for (std::size_t i = 0; i < labels.size(); ++i)
      recognised += labels[i] == classes_[(static_cast<std::size_t>(done) + i) % classes_.size()];
    done += count;
  }
  return {metrics::frechet_distance(*real_, moments.gaussian()),
          static_cast<double>(recognised) / static_cast<double>(drawings)};
}

}  // namespace attend::tasks
