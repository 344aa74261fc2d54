// What the page asks a model that draws, as JSON (docs/look.md has the format). A second model may stand beside it, to
// be given the same noise: with attention and without.
#pragma once

#include <cstdint>
#include <string>

#include "attend/base/json_fwd.h"
#include "attend/look/inspect/drawing.h"

namespace attend::look {

class DrawingApi {
 public:
  struct Beside {
    const DrawingInspector* inspector = nullptr;  // null: there is none
    std::string name = {};
  };
  // Both must outlive it. Throws Error when the second one knows other classes.
  DrawingApi(const DrawingInspector& inspector, Beside beside);

  Json model() const;
  // {"what": "grid", "seed", "columns"}                      -> {"drawings": [[image, ..], ..]}, a row for each class
  // {"what": "one", "class", "seed", "row"}                  -> {"seen", "attention": [{place, "weights"}, ..]}
  // {"what": "walk", "class", "seed", "row", "to_class", "to_seed", "to_row", "frames"} -> {"drawings": [image, ..]}
  // With "beside": 1 they are the other model's. Throws Error for requests that make no sense.
  Json inspect(const Json& request) const;

 private:
  const DrawingInspector& inspector_;
  Beside beside_;
};

}  // namespace attend::look
