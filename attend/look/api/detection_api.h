// What the page asks a model that finds things in images, as JSON (docs/look.md has the format).
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "attend/base/json.h"
#include "attend/look/api/image_questions.h"
#include "attend/look/api/image_store.h"
#include "attend/look/inspect/detection.h"

namespace attend::look {

class DetectionApi : public ImageQuestions {
 public:
  static constexpr float kThreshold = 0.5f;  // of what is named above the image

  // detector must outlive it. folder: the model's, for its sample images.
  explicit DetectionApi(const tasks::Detector& detector, const std::filesystem::path& folder = {})
      : detector_(detector),
        shelf_([&detector](const image::Image& one) { return detector.prepare(one); },
               SampleSet(folder, SampleKind::scenes)) {}

  Json model() const override;
  const SampleSet& samples() const override { return shelf_.samples(); }
  Json keep(const std::string& file) override { return shelf_.keep(file); }
  Json inspect(const Json& request) override;  // {"image"}
  // {"image", "query"} or {"image", "place"}: where it looks, by all layers and heads.
  Json attention(const Json& request) override;
  Json exported(const std::string& name) override;

 private:
  const DetectionInspection& inspection(const Json& request);

  const tasks::Detector& detector_;
  ImageStore shelf_;
  std::string newest_;
  std::optional<DetectionInspection> seen_;
};

}  // namespace attend::look
