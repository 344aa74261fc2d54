// What the page asks a model that labels images, as JSON (docs/look.md has the format).
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "attend/base/json.h"
#include "attend/look/api/image_questions.h"
#include "attend/look/api/image_store.h"
#include "attend/look/inspect/image.h"

namespace attend::look {

class ImageApi : public ImageQuestions {
 public:
  // inspector must outlive it. folder: the model's, for its sample images.
  explicit ImageApi(ImageInspector& inspector, const std::filesystem::path& folder = {})
      : inspector_(inspector),
        shelf_([&inspector](const image::Image& one) { return inspector.prepare(one); }, SampleSet(folder)) {}

  Json model() const override;
  const SampleSet& samples() const override { return shelf_.samples(); }
  Json keep(const std::string& file) override { return shelf_.keep(file); }
  // {"image", "ablation"}
  Json inspect(const Json& request) override;
  Json attention(const Json& request) override;  // {"image", "ablation", "layer"}
  Json trace(const Json& request) override;      // {"image", "layer", "head", "token"}
  Json positions() const override;
  // Whole layers of attention go along as long as the file stays small; else where the class token looks.
  Json exported(const std::string& name) override;

 private:
  const ImageInspection& inspection(const Json& request);

  ImageInspector& inspector_;
  ImageStore shelf_;
  // The newest answer: layers are asked for one after another.
  std::string newest_;
  std::optional<ImageInspection> seen_;
};

}  // namespace attend::look
