// Pictures that people sent, the last few of them, as the model reads them: sent once and then known by a name. The
// pictures that come with attend have names, too.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "attend/base/json.h"
#include "attend/image/image.h"

namespace attend::look {

bool is_picture_type(std::string_view content_type);

class PictureShelf {
 public:
  static constexpr std::size_t kMostBytes = 32 << 20;  // of a file
  using Prepare = std::function<image::Image(const image::Image&)>;

  explicit PictureShelf(Prepare prepare) : prepare_(std::move(prepare)) {}

  // A file's bytes -> {"picture": its name, "size"}. Throws Error for what is no picture.
  Json keep(const std::string& file);
  // The one that a request names, made ready. Throws Error when it is not here any more.
  const image::Image& find(const Json& request);

  static Json samples(std::string_view first = {});  // their names
  // One of them as a file; empty when there is none of that name.
  static std::string sample_png(std::string_view name);

 private:
  struct Kept {
    std::string name;
    image::Image prepared;
  };
  void remember(std::string name, const image::Image& picture);

  Prepare prepare_;
  std::deque<Kept> kept_;  // newest first
};

}  // namespace attend::look
