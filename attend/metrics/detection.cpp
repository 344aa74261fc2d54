#include "attend/metrics/detection.h"

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

namespace attend::metrics {

namespace {

constexpr int kOverlaps = 10, kRecalls = 101;
constexpr std::size_t kMostDetections = 100;  // of an image and category
constexpr std::array<std::size_t, 3> kDetectionLimits = {1, 10, kMostDetections};
using PerOverlap = std::bitset<kOverlaps>;

struct AreaRange {
  double least, most;  // both belong to it
  bool contains(double area) const { return area >= least && area <= most; }
};
constexpr std::array<AreaRange, 4> kAreas = {
    {{0, 1e10}, {0, 32.0 * 32.0}, {32.0 * 32.0, 96.0 * 96.0}, {96.0 * 96.0, 1e10}}};

// As numpy's linspace has them: the last one exactly, the others as multiples of the step.
double overlap_at(int i) { return i == kOverlaps - 1 ? 0.95 : i * ((0.95 - 0.5) / (kOverlaps - 1)) + 0.5; }
double recall_at(int i) { return i == kRecalls - 1 ? 1.0 : i * (1.0 / (kRecalls - 1)); }

// One category in one image.
struct Scene {
  std::vector<const data::TrueObject*> objects;
  std::vector<const data::Detection*> detections;  // the best first, once sorted
  std::vector<double> overlaps;                    // [detection][object]

  void prepare() {
    std::stable_sort(detections.begin(), detections.end(),
                     [](const data::Detection* a, const data::Detection* b) { return a->score > b->score; });
    if (detections.size() > kMostDetections) detections.resize(kMostDetections);
    overlaps.reserve(detections.size() * objects.size());
    for (const data::Detection* detection : detections)
      for (const data::TrueObject* object : objects)
        overlaps.push_back(box_iou(detection->box, object->box, object->crowd));
  }
};

// A detection when its image's objects have been given out.
struct Verdict {
  double score;
  std::size_t rank;  // in its image
  PerOverlap found, ignored;
};

// Gives each detection, the best first, the object that it overlaps most of those still free. Objects that do not count
// in this range of areas come last: they are taken when there is no other, and make the detection not count either.
class ScenePairing {
 public:
  ScenePairing(const Scene& scene, const AreaRange& range) : scene_(scene), range_(range) {
    const std::size_t count = scene.objects.size();
    ignored_.resize(count);
    for (std::size_t i = 0; i < count; ++i)
      ignored_[i] = scene.objects[i]->crowd || !range.contains(scene.objects[i]->area);
    for (const bool late : {false, true})
      for (std::size_t i = 0; i < count; ++i)
        if (ignored_[i] == late) order_.push_back(i);
    counted_ = static_cast<std::size_t>(std::count(ignored_.begin(), ignored_.end(), false));
  }

  std::size_t counted() const { return counted_; }

  void add_to(std::vector<Verdict>& verdicts) {
    const std::size_t first = verdicts.size();
    for (std::size_t i = 0; i < scene_.detections.size(); ++i)
      verdicts.push_back({.score = scene_.detections[i]->score, .rank = i, .found = {}, .ignored = {}});
    for (int t = 0; t < kOverlaps; ++t) {
      taken_.assign(scene_.objects.size(), false);
      for (std::size_t i = 0; i < scene_.detections.size(); ++i) {
        Verdict& verdict = verdicts[first + i];
        if (const auto object = best_object(i, overlap_at(t))) {
          taken_[*object] = true;
          verdict.found[t] = true;
          verdict.ignored[t] = ignored_[*object];
        } else {
          verdict.ignored[t] = !range_.contains(scene_.detections[i]->box.area());
        }
      }
    }
  }

 private:
  std::optional<std::size_t> best_object(std::size_t detection, double least) const {
    std::optional<std::size_t> best;
    double overlap = std::min(least, 1 - 1e-10);
    for (const std::size_t object : order_) {
      if (taken_[object] && !scene_.objects[object]->crowd) continue;
      if (best && !ignored_[*best] && ignored_[object]) break;
      const double here = scene_.overlaps[detection * scene_.objects.size() + object];
      if (here < overlap) continue;
      overlap = here;
      best = object;
    }
    return best;
  }

  const Scene& scene_;
  const AreaRange& range_;
  std::vector<bool> ignored_, taken_;
  std::vector<std::size_t> order_;
  std::size_t counted_ = 0;
};

// Of one category, one range of areas and one limit of detections; for each overlap.
struct Curve {
  std::array<double, kOverlaps> precision = {};  // the mean over the recalls
  std::array<double, kOverlaps> recall = {};     // of all detections
};

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// precisions[i] and recalls[i] after i + 1 detections. Precision at a recall is the best at this recall or above it.
double mean_precision(std::vector<double>& precisions, const std::vector<double>& recalls) {
  for (std::size_t i = precisions.size(); i-- > 1;) precisions[i - 1] = std::max(precisions[i - 1], precisions[i]);
  double sum = 0;
  std::size_t at = 0;
  for (int r = 0; r < kRecalls; ++r) {
    while (at < recalls.size() && recalls[at] < recall_at(r)) ++at;
    if (at < recalls.size()) sum += precisions[at];
  }
  return sum / kRecalls;
}

// verdicts: the best first.
Curve curve_of(const std::vector<Verdict>& verdicts, std::size_t limit, std::size_t objects) {
  Curve curve;
  std::vector<double> precisions, recalls;
  for (int t = 0; t < kOverlaps; ++t) {
    precisions.clear();
    recalls.clear();
    double right = 0, wrong = 0;
    for (const Verdict& verdict : verdicts) {
      if (verdict.rank >= limit) continue;
      if (!verdict.ignored[t]) ++(verdict.found[t] ? right : wrong);
      recalls.push_back(right / static_cast<double>(objects));
      precisions.push_back(right / (right + wrong + std::numeric_limits<double>::epsilon()));
    }
    curve.recall[t] = recalls.empty() ? 0 : recalls.back();
    curve.precision[t] = mean_precision(precisions, recalls);
  }
  return curve;
}

// Collects the figures of the categories that have objects in a range.
class Means {
 public:
  void add(double value) { sum_ += value, ++count_; }
  double value() const { return count_ == 0 ? -1 : sum_ / count_; }

 private:
  double sum_ = 0;
  int count_ = 0;
};

using CategoryScenes = std::map<std::int64_t, Scene>;  // by image: in the order of their ids

// Of each category.
std::vector<CategoryScenes> scenes_of(const data::Instances& truth, std::span<const data::Detection> detections) {
  std::map<std::int64_t, std::size_t> numbers;
  for (std::size_t i = 0; i < truth.categories.size(); ++i) numbers[truth.categories[i].id] = i;
  std::vector<std::int64_t> images = truth.images;
  std::sort(images.begin(), images.end());
  std::vector<CategoryScenes> scenes(truth.categories.size());
  const auto scene_of = [&](const auto& item) -> Scene* {
    const auto number = numbers.find(item.category);
    if (number == numbers.end() || !std::binary_search(images.begin(), images.end(), item.image)) return nullptr;
    return &scenes[number->second][item.image];
  };
  for (const data::TrueObject& object : truth.objects)
    if (Scene* scene = scene_of(object)) scene->objects.push_back(&object);
  for (const data::Detection& detection : detections)
    if (Scene* scene = scene_of(detection)) scene->detections.push_back(&detection);
  return scenes;
}

}  // namespace

double box_iou(const data::Box& detection, const data::Box& truth, bool crowd) {
  const double width = std::min(detection.x + detection.width, truth.x + truth.width) - std::max(detection.x, truth.x);
  const double height =
      std::min(detection.y + detection.height, truth.y + truth.height) - std::max(detection.y, truth.y);
  if (width <= 0 || height <= 0) return 0;
  const double both = width * height;
  return both / (crowd ? detection.area() : detection.area() + truth.area() - both);
}

DetectionScores coco_scores(const data::Instances& truth, std::span<const data::Detection> detections) {
  std::array<Means, kCocoStats> stats;
  DetectionScores scores;
  for (CategoryScenes& scenes : scenes_of(truth, detections)) {
    double category_precision = -1;
    for (auto& [image, scene] : scenes) scene.prepare();
    for (std::size_t a = 0; a < kAreas.size(); ++a) {
      std::vector<Verdict> verdicts;
      std::size_t objects = 0;
      for (const auto& [image, scene] : scenes) {
        ScenePairing pairing(scene, kAreas[a]);
        objects += pairing.counted();
        pairing.add_to(verdicts);
      }
      if (objects == 0) continue;
      std::stable_sort(verdicts.begin(), verdicts.end(),
                       [](const Verdict& one, const Verdict& other) { return one.score > other.score; });
      const Curve curve = curve_of(verdicts, kMostDetections, objects);
      if (a > 0) {
        stats[2 + a].add(mean(curve.precision));
        stats[8 + a].add(mean(curve.recall));
        continue;
      }
      category_precision = mean(curve.precision);
      stats[0].add(category_precision);
      stats[1].add(curve.precision[0]);
      stats[2].add(curve.precision[5]);
      for (std::size_t m = 0; m < kDetectionLimits.size(); ++m)
        stats[6 + m].add(mean(curve_of(verdicts, kDetectionLimits[m], objects).recall));
    }
    scores.per_category.push_back(category_precision);
    scenes.clear();
  }
  for (std::size_t i = 0; i < stats.size(); ++i) scores.stats[i] = stats[i].value();
  return scores;
}

}  // namespace attend::metrics
