// What the page asks a model that finds things in pictures, as JSON (docs/look.md has the format).
#pragma once

#include <optional>
#include <string>

#include "attend/base/json.h"
#include "attend/look/api/picture_questions.h"
#include "attend/look/api/picture_shelf.h"
#include "attend/look/inspect/detection.h"

namespace attend::look {

class DetectionApi : public PictureQuestions {
 public:
  static constexpr float kThreshold = 0.5f;  // of what is named above the picture

  // detector must outlive it.
  explicit DetectionApi(const tasks::Detector& detector)
      : detector_(detector), shelf_([&detector](const image::Image& one) { return detector.prepare(one); }) {}

  Json model() const override;
  Json keep(const std::string& file) override { return shelf_.keep(file); }
  Json inspect(const Json& request) override;  // {"picture"}
  // {"picture", "query"} or {"picture", "place"}: where it looks, by all layers and heads.
  Json attention(const Json& request) override;
  Json exported(const std::string& name) override;

 private:
  const DetectionInspection& inspection(const Json& request);

  const tasks::Detector& detector_;
  PictureShelf shelf_;
  std::string newest_;
  std::optional<DetectionInspection> seen_;
};

}  // namespace attend::look
