// What the page asks a model that labels pictures, as JSON (docs/look.md has the format).
#pragma once

#include <optional>
#include <string>

#include "attend/base/json.h"
#include "attend/look/api/picture_questions.h"
#include "attend/look/api/picture_shelf.h"
#include "attend/look/inspect/picture.h"

namespace attend::look {

class PictureApi : public PictureQuestions {
 public:
  // inspector must outlive it.
  explicit PictureApi(PictureInspector& inspector)
      : inspector_(inspector), shelf_([&inspector](const image::Image& one) { return inspector.prepare(one); }) {}

  Json model() const override;
  Json keep(const std::string& file) override { return shelf_.keep(file); }
  // {"picture", "ablation"}
  Json inspect(const Json& request) override;
  Json attention(const Json& request) override;  // {"picture", "ablation", "layer"}
  Json trace(const Json& request) override;      // {"picture", "layer", "head", "token"}
  Json positions() const override;
  // Whole layers of attention go along as long as the file stays small; else where the class token looks.
  Json exported(const std::string& name) override;

 private:
  const PictureInspection& inspection(const Json& request);

  PictureInspector& inspector_;
  PictureShelf shelf_;
  // The newest answer: layers are asked for one after another.
  std::string newest_;
  std::optional<PictureInspection> seen_;
};

}  // namespace attend::look
