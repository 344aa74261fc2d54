// Opens a model folder with what shows the inside of its model. config.json says which that is.
#pragma once

#include <filesystem>
#include <memory>

#include "attend/look/inspect/drawing.h"
#include "attend/look/inspect/image.h"
#include "attend/look/inspect/inspect.h"
#include "attend/tasks/describer.h"
#include "attend/tasks/detector.h"

namespace attend::look {

// One of these, by what the model reads and makes.
struct OpenedModel {
  std::unique_ptr<Inspector> text = {};
  std::unique_ptr<ImageInspector> images = {};
  std::unique_ptr<tasks::Detector> detector = {};
  std::unique_ptr<tasks::LoadedDescriber> describer = {};
  std::unique_ptr<DrawingInspector> drawings = {};

  explicit operator bool() const { return text || images || detector || describer || drawings; }
};

// backend must outlive it.
OpenedModel open_model(const std::filesystem::path& folder, Backend& backend, DType dtype);

// The same for a model that reads text; throws Error for another.
std::unique_ptr<Inspector> open_inspector(const std::filesystem::path& folder, Backend& backend, DType dtype);

}  // namespace attend::look
