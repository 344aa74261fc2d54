// How good drawings are to a classifier: how far its features of them are from those of real pictures (metrics/
// frechet.h), and how often it sees in them what they should be.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attend/data/labelled_pictures.h"
#include "attend/metrics/frechet.h"
#include "attend/models/sagan.h"
#include "attend/tasks/picture_encoder.h"

namespace attend::tasks {

class DrawJudge {
 public:
  // Throws Error when the classifier does not know one of the classes.
  DrawJudge(const std::filesystem::path& folder, Backend& backend, const std::vector<std::string>& classes);

  // The real pictures, those of these numbers.
  void see(const data::LabelledPictures& pictures, const std::vector<std::int64_t>& numbers);

  struct Verdict {
    double distance = 0, recognised = 0;
  };
  // Of so many drawings of the model as it is now: always of the same noise, classes in turn.
  Verdict operator()(const models::Sagan& model, DType dtype, std::int64_t drawings) const;

 private:
  // Features into moments; labels of each, where asked for.
  void look(const std::vector<image::Image>& pictures, metrics::Moments& moments,
            std::vector<std::string>* labels) const;

  PictureEncoder encoder_;
  std::vector<std::string> classes_;
  std::optional<metrics::Gaussian> real_;
};

}  // namespace attend::tasks
