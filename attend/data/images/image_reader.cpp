#include "attend/data/images/image_reader.h"

#include <utility>

#include "attend/base/error.h"

namespace attend::data {

ImageCache::ImageCache(Source source, const ImageReaderOptions& options)
    : source_(std::move(source)), options_(options) {
  check(options.cache_bytes >= 0, "images: a cache of {} bytes makes no sense", options.cache_bytes);
  if (!source_.decoded && options.cache_bytes > 0) kept_.resize(static_cast<std::size_t>(source_.count));
}

ImageReader::ImageReader(const LabelledImages& images, const ImageReaderOptions& options)
    : ImageCache({images.size(), images.decoded(), [&images](std::int64_t i) { return images.read(i); }}, options),
      images_(images) {}

bool ImageCache::find(std::int64_t number, std::shared_ptr<const image::Image>& image) const {
  const std::lock_guard lock(mutex_);
  if (!kept_.empty()) image = kept_[static_cast<std::size_t>(number)];
  return image || broken_.contains(number);
}

void ImageCache::keep(std::int64_t number, const std::shared_ptr<const image::Image>& image) {
  if (kept_.empty()) return;
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const image::Image>& place = kept_[static_cast<std::size_t>(number)];
  const auto bytes = static_cast<std::int64_t>(image->pixels.size());
  if (place || bytes_ + bytes > options_.cache_bytes) return;  // what is kept stays: the order is random
  place = image;
  bytes_ += bytes;
}

std::shared_ptr<const image::Image> ImageCache::read(std::int64_t number) {
  check(number >= 0 && number < source_.count, "there is no image {} among {}", number, source_.count);
  std::shared_ptr<const image::Image> image;
  if (find(number, image)) return image;
  try {
    image = std::make_shared<const image::Image>(source_.read(number));
  } catch (const Error& error) {
    if (options_.broken == BrokenImages::stop) fail("{}; --broken skip leaves out what cannot be read", error.what());
    const std::lock_guard lock(mutex_);
    broken_.emplace(number, error.what());
    return nullptr;
  }
  keep(number, image);
  return image;
}

std::vector<std::string> ImageCache::broken() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> list;
  for (const auto& [number, reason] : broken_) list.push_back(reason);
  return list;
}

std::int64_t ImageCache::cached_bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace attend::data
