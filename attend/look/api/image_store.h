// Images that people sent, the last few of them, as the model reads them: sent once and then known by a name. The
// images that come with attend have names, too.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "attend/base/json.h"
#include "attend/image/image.h"
#include "attend/look/api/sample_set.h"

namespace attend::look {

bool is_image_type(std::string_view content_type);

class ImageStore {
 public:
  static constexpr std::size_t kMostBytes = 32 << 20;  // of a file
  using Prepare = std::function<image::Image(const image::Image&)>;

  ImageStore(Prepare prepare, SampleSet samples) : prepare_(std::move(prepare)), samples_(std::move(samples)) {}

  // A file's bytes -> {"image": its name, "size"}. Throws Error for what is no image.
  Json keep(const std::string& file);
  // The one that a request names, made ready. Throws Error when it is not here any more.
  const image::Image& find(const Json& request);

  const SampleSet& samples() const { return samples_; }

 private:
  struct Kept {
    std::string name;
    image::Image prepared;
  };
  void remember(std::string name, const image::Image& image);

  Prepare prepare_;
  SampleSet samples_;
  std::deque<Kept> kept_;  // newest first
};

}  // namespace attend::look
