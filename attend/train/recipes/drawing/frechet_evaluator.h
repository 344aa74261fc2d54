// How good drawings are to a classifier: how far its features of them are from those of real images (metrics/
// frechet.h), how often it sees in them what they should be, and whether those of a class differ as real ones do.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attend/data/images/labelled_images.h"
#include "attend/metrics/frechet.h"
#include "attend/models/sagan.h"
#include "attend/tasks/image_encoder.h"
#include "attend/world/world.h"

namespace attend::train {

class FrechetEvaluator {
 public:
  // Throws Error when the classifier does not know one of the classes.
  FrechetEvaluator(const std::filesystem::path& folder, Backend& backend, const std::vector<std::string>& classes);

  // The real images, those of these numbers.
  void see(const data::LabelledImages& images, const std::vector<std::int64_t>& numbers);

  struct Verdict {
    double distance = 0, recognised = 0;
    // Of each class: the share that is recognised, and the variance of the features beside that of real images. Close
    // to 0, all drawings of the class are alike.
    std::vector<double> recognised_of = {}, variety_of = {};
  };
  // Of so many drawings of the model as it is now: always of the same noise, classes in turn. By all processes of the
  // world.
  Verdict operator()(const models::Sagan& model, DType dtype, std::int64_t drawings, world::World& world) const;

 private:
  // The sum of the variances of all features, of vectors that come one by one (Welford 1962).
  struct Spread {
    std::int64_t count = 0;
    std::vector<double> mean = {};
    double squares = 0;
    void add(const std::vector<float>& vector);
    double variance() const { return count > 1 ? squares / static_cast<double>(count - 1) : 0; }
  };
  struct Seen {
    metrics::Moments all = {};
    std::vector<Spread> of_class = {};
  };
  // The features of an image of this class.
  void add(const std::vector<float>& features, std::size_t of_class, Seen& seen) const;
  // So many drawings from a number on, one behind the other: the features of each, and 1 if it is recognised.
  std::vector<float> drawn(const models::Sagan& model, DType dtype, std::size_t first, std::size_t count) const;

  tasks::ImageEncoder encoder_;
  std::vector<std::string> classes_;
  std::optional<metrics::Gaussian> real_;
  std::vector<double> real_variances_;  // by class
};

}  // namespace attend::train
