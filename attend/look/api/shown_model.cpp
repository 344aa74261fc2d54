#include "attend/look/api/shown_model.h"

#include <algorithm>
#include <optional>

#include "attend/base/error.h"
#include "attend/look/api/caption_api.h"
#include "attend/look/api/detection_api.h"
#include "attend/look/api/image_api.h"
#include "attend/look/inspect/caption.h"
#include "attend/look/inspect/detection.h"
#include "attend/look/inspect/image_page.h"
#include "attend/tasks/model_folder.h"
#include "attend/view/trace_figure.h"

namespace attend::look {

namespace {

std::string name_of_folder(const std::filesystem::path& path) {
  return (path.has_filename() ? path : path.parent_path()).filename().string();  // "runs/en-de/"
}

}  // namespace

ShownModel::ShownModel(const std::filesystem::path& folder, const std::filesystem::path& beside, Backend& backend,
                       DType dtype)
    : opened_(open_model(folder, backend, dtype)) {
  if (!beside.empty()) {
    check(opened_.describer || opened_.drawings,
          "look: --beside is for models that write about images or draw; the one in {} does neither", folder.string());
    beside_ = open_model(beside, backend, dtype);
    check((opened_.describer && beside_.describer) || (opened_.drawings && beside_.drawings),
          "look: --beside compares two models that write about images, or two that draw; {} and {} are of two kinds",
          folder.string(), beside.string());
  }
  const std::string name = name_of_folder(beside);
  if (opened_.images) images_ = std::make_unique<ImageApi>(*opened_.images, folder);
  if (opened_.detector) images_ = std::make_unique<DetectionApi>(*opened_.detector, folder);
  if (opened_.describer) {
    std::optional<CaptionApi::Named> other;
    if (beside_) other.emplace(CaptionApi::Named{*beside_.describer, name});
    images_ =
        std::make_unique<CaptionApi>(CaptionApi::Named{*opened_.describer, name_of_folder(folder), folder}, other);
  }
  if (opened_.drawings)
    drawings_ = std::make_unique<DrawingApi>(*opened_.drawings, DrawingApi::Beside{beside_.drawings.get(), name});
}

view::Figure ShownModel::figure(const image::Image& image, const std::string& name, const ImageView& view) const {
  check(view.view == "map" || (opened_.images && (view.view == "rollout" || view.view == "steps")),
        "look: there is no view '{}' of this model", view.view);
  if (const tasks::Detector* detector = opened_.detector.get())
    return detection_page(inspect_detection(*detector, detector->prepare(image)), name, DetectionApi::kThreshold);
  if (const tasks::LoadedDescriber* describer = opened_.describer.get())
    return caption_page(inspect_caption(*describer, describer->prepare(image)));
  check(opened_.images != nullptr, "look: this model reads no images");
  ImageInspector& inspector = *opened_.images;
  const image::Image prepared = inspector.prepare(image);
  if (view.view == "map") return image_page(inspector.inspect(prepared), name);
  if (view.view == "rollout") return rollout_page(inspector.inspect(prepared), name);
  const auto layers = static_cast<std::int64_t>(inspector.places().size());
  return view::trace_figure(inspector.trace(prepared, {.layer = view.layer < 0 ? layers - 1 : view.layer,
                                                       .head = std::max<std::int64_t>(0, view.head)}),
                            name);
}

ChosenModel::ChosenModel(const ModelEntry& model, Backend& backend, DType dtype, bool only_local_names)
    : shown_(model.folder.empty() ? tasks::find_model(model.name) : model.folder, {}, backend, dtype),
      api_(shown_.parts(), {.name = model.name, .only_local_names = only_local_names}) {}

}  // namespace attend::look
