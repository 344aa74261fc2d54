// What the page may ask of any model that reads images: one that labels them (image_api.h), finds things in them
// (detection_api.h) or writes about them (caption_api.h). All throw Error for requests that make no sense.
#pragma once

#include <string>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/look/api/sample_set.h"

namespace attend::look {

class ImageQuestions {
 public:
  virtual ~ImageQuestions() = default;

  virtual Json model() const = 0;
  virtual const SampleSet& samples() const = 0;
  // A file's bytes -> {"image": its name}.
  virtual Json keep(const std::string& file) = 0;
  virtual Json inspect(const Json& request) = 0;
  virtual Json attention(const Json&) { fail("this model's attention comes with its answer"); }
  virtual Json trace(const Json&) { fail("this model is not walked through step by step"); }
  virtual Json positions() const { fail("this model has no table of positions to show"); }
  // What a page that opens from disk carries besides {"model", "image"}.
  virtual Json exported(const std::string& name) { return {{"result", inspect({{"image", name}})}}; }
};

}  // namespace attend::look
