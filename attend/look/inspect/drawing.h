// A model that draws, looked at: drawings of a class and a seed, where every place of a drawing looked while it was
// made, and the way from one drawing to another.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "attend/image/image.h"
#include "attend/look/inspect/image_attention.h"
#include "attend/tasks/image_generator.h"

namespace attend::look {

// A drawing with all of its attention.
struct DrawingInspection {
  image::Image drawn = {};
  std::vector<ImageAttention> attention = {};  // layer by layer
};

class DrawingInspector {
 public:
  // backend must outlive it.
  DrawingInspector(const std::filesystem::path& folder, Backend& backend, DType dtype)
      : drawer_(folder, backend, dtype), places_(drawer_.model().attention_places()) {}

  const models::SaganConfig& config() const { return drawer_.model().config(); }
  std::int64_t parameters() const { return drawer_.parameters(); }  // of the generator
  const std::vector<models::AttentionPlace>& places() const { return places_; }

  // Row `row` of a seed's noise is what attend draw makes its drawing number `row` of. Throw Error for classes that are
  // not there.
  struct Place {
    std::int64_t of_class = 0;
    std::uint64_t seed = 1, row = 0;
  };
  DrawingInspection inspect(const Place& place) const;
  // Of every class so many: [classes][columns].
  std::vector<std::vector<image::Image>> grid(std::uint64_t seed, std::int64_t columns) const;
  // From the one to the other, both in it.
  std::vector<image::Image> walk(const Place& from, const Place& to, std::int64_t frames) const;

 private:
  tasks::DrawingPlan plan(const Place& place) const;

  tasks::ImageGenerator drawer_;
  std::vector<models::AttentionPlace> places_;
};

}  // namespace attend::look
