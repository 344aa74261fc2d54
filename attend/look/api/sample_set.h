// The sample images of one model: the files of samples/ in its folder, so that a model comes with images of its own
// kind; without them, painted ones (sample_images.h). A file named fooled-*.png shows a mistake on purpose and is
// listed last.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/json.h"
#include "attend/image/image.h"
#include "attend/look/api/sample_images.h"

namespace attend::look {

class SampleSet {
 public:
  // painted: the images to offer where there are no files.
  explicit SampleSet(const std::filesystem::path& model = {}, SampleKind painted = SampleKind::objects);

  const std::vector<std::string>& names() const { return names_; }
  // The bytes of a PNG or JPEG file; empty when there is none of that name.
  std::string file(std::string_view name) const;
  std::optional<image::Image> image(std::string_view name) const;

 private:
  SampleKind painted_;
  std::vector<std::string> names_;
  std::vector<std::filesystem::path> files_;  // as names_; empty: they are painted
};

}  // namespace attend::look
