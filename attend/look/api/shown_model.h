// A model folder with what answers the page's questions about it, whichever kind of model it is.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "attend/look/api/api.h"
#include "attend/look/api/model_registry.h"
#include "attend/look/inspect/open.h"
#include "attend/view/figure.h"

namespace attend::look {

class ShownModel {
 public:
  ShownModel() = default;  // of no model: a run that has saved none yet
  // beside: the folder of a second model to compare with; empty: none. backend must outlive it.
  ShownModel(const std::filesystem::path& folder, const std::filesystem::path& beside, Backend& backend, DType dtype);

  explicit operator bool() const { return static_cast<bool>(opened_); }
  Inspector* text() const { return opened_.text.get(); }    // null: it reads no text
  ImageQuestions* images() const { return images_.get(); }  // null: it reads no images
  DrawingApi* drawings() const { return drawings_.get(); }  // null: it makes none
  Api::Parts parts() const { return {.inspector = text(), .images = images(), .drawings = drawings()}; }

  // What a model that reads images makes of one, as a drawing for a file. view: map, or of a classifier also rollout or
  // steps (of the class token, or the first patch).
  struct ImageView {
    std::string view = "map";
    std::int64_t layer = -1, head = -1;  // of steps; below 0: the last layer, the first head
  };
  view::Figure figure(const image::Image& image, const std::string& name, const ImageView& view) const;

 private:
  OpenedModel opened_, beside_;
  std::unique_ptr<ImageQuestions> images_;
  std::unique_ptr<DrawingApi> drawings_;
};

// A model opened because somebody chose it on the page.
class ChosenModel : public ModelRegistry::Opened {
 public:
  ChosenModel(const ModelEntry& model, Backend& backend, DType dtype, bool only_local_names);
  Api& api() override { return api_; }

 private:
  ShownModel shown_;
  Api api_;
};

}  // namespace attend::look
