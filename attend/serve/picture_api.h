// What the page asks a model that looks at pictures, as JSON (docs/look.md has the format). Pictures are sent once and
// then known by a name; the last few are kept.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "attend/base/json.h"
#include "attend/inspect/picture.h"

namespace attend::serve {

bool is_picture_type(std::string_view content_type);

class PictureApi {
 public:
  static constexpr std::size_t kMostBytes = 32 << 20;  // of a file

  // inspector must outlive it.
  explicit PictureApi(tasks::PictureInspector& inspector) : inspector_(inspector) {}

  Json model() const;
  // A file's bytes -> {"picture": its name}. Throws Error for what is no picture.
  Json keep(const std::string& file);
  // {"picture", "ablation"}; all throw Error for requests that make no sense.
  Json inspect(const Json& request);
  Json attention(const Json& request);  // {"picture", "ablation", "layer"}
  Json trace(const Json& request);      // {"picture", "layer", "head", "token"}
  Json positions() const;

  // One of the pictures that come with attend, as a file; empty when there is none of that name.
  static std::string sample_png(std::string_view name);

 private:
  struct Kept {
    std::string name;
    image::Image prepared;
  };
  const image::Image& picture(const Json& request);
  void remember(std::string name, const image::Image& picture);
  const tasks::PictureInspection& inspection(const Json& request);

  tasks::PictureInspector& inspector_;
  std::deque<Kept> kept_;  // newest first
  // The newest answer: layers are asked for one after another.
  std::string newest_;
  std::optional<tasks::PictureInspection> seen_;
};

}  // namespace attend::serve
