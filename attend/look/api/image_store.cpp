#include "attend/look/api/image_store.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <span>

#include "attend/base/error.h"
#include "attend/base/hashing.h"
#include "attend/http/json_request.h"
#include "attend/image/decode.h"

namespace attend::look {

namespace {

constexpr std::size_t kMostKept = 16;
constexpr std::int64_t kMostUploadedPixels = 64 << 20;  // a small file can claim any size

// A file always has the same name, so that a link to it lasts as long as the server.
std::string name_of(std::string_view file) { return fmt::format("{:016x}", hash_text(file)); }

}  // namespace

bool is_image_type(std::string_view type) {
  return type.starts_with("image/png") || type.starts_with("image/jpeg") || type.starts_with("image/webp");
}

void ImageStore::remember(std::string name, const image::Image& image) {
  Kept kept{std::move(name), prepare_(image)};
  std::erase_if(kept_, [&](const Kept& one) { return one.name == kept.name; });
  kept_.push_front(std::move(kept));
  if (kept_.size() > kMostKept) kept_.pop_back();
}

Json ImageStore::keep(const std::string& file) {
  check(file.size() <= kMostBytes, "the image has {} bytes, at most {} are taken", file.size(), kMostBytes);
  const image::Image image = image::decode(std::as_bytes(std::span(file)), "the image",
                                           {.most_pixels = kMostUploadedPixels, .most_bytes = kMostBytes});
  std::string name = name_of(file);
  remember(name, image);
  return {{"image", name}, {"size", {image.height, image.width}}};
}

const image::Image& ImageStore::find(const Json& request) {
  const std::string name = http::word(request, "image", "");
  check(!name.empty(), "there is no image");
  const auto found = std::ranges::find(kept_, name, &Kept::name);
  if (found != kept_.end()) return found->prepared;
  const std::optional<image::Image> sample = samples_.image(name);
  check(sample.has_value(), "the image '{}' is not here any more; choose it again", name);
  remember(name, *sample);
  return kept_.front().prepared;
}

}  // namespace attend::look
