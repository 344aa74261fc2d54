// What the page asks a model that labels pictures, as JSON (docs/look.md has the format).
#pragma once

#include <optional>
#include <string>

#include "attend/base/json.h"
#include "attend/inspect/picture.h"
#include "attend/serve/picture_questions.h"
#include "attend/serve/picture_shelf.h"

namespace attend::serve {

class PictureApi : public PictureQuestions {
 public:
  // inspector must outlive it.
  explicit PictureApi(tasks::PictureInspector& inspector)
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
  const tasks::PictureInspection& inspection(const Json& request);

  tasks::PictureInspector& inspector_;
  PictureShelf shelf_;
  // The newest answer: layers are asked for one after another.
  std::string newest_;
  std::optional<tasks::PictureInspection> seen_;
};

}  // namespace attend::serve
