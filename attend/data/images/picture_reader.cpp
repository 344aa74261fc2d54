#include "attend/data/images/picture_reader.h"

#include <utility>

#include "attend/base/error.h"

namespace attend::data {

PictureCache::PictureCache(Source source, const PictureReaderOptions& options)
    : source_(std::move(source)), options_(options) {
  check(options.cache_bytes >= 0, "pictures: a cache of {} bytes makes no sense", options.cache_bytes);
  if (!source_.decoded && options.cache_bytes > 0) kept_.resize(static_cast<std::size_t>(source_.count));
}

PictureReader::PictureReader(const LabelledPictures& pictures, const PictureReaderOptions& options)
    : PictureCache({pictures.size(), pictures.decoded(), [&pictures](std::int64_t i) { return pictures.read(i); }},
                   options),
      pictures_(pictures) {}

bool PictureCache::find(std::int64_t number, std::shared_ptr<const image::Image>& picture) const {
  const std::lock_guard lock(mutex_);
  if (!kept_.empty()) picture = kept_[static_cast<std::size_t>(number)];
  return picture || broken_.contains(number);
}

void PictureCache::keep(std::int64_t number, const std::shared_ptr<const image::Image>& picture) {
  if (kept_.empty()) return;
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const image::Image>& place = kept_[static_cast<std::size_t>(number)];
  const auto bytes = static_cast<std::int64_t>(picture->pixels.size());
  if (place || bytes_ + bytes > options_.cache_bytes) return;  // what is kept stays: the order is random
  place = picture;
  bytes_ += bytes;
}

std::shared_ptr<const image::Image> PictureCache::read(std::int64_t number) {
  check(number >= 0 && number < source_.count, "there is no picture {} among {}", number, source_.count);
  std::shared_ptr<const image::Image> picture;
  if (find(number, picture)) return picture;
  try {
    picture = std::make_shared<const image::Image>(source_.read(number));
  } catch (const Error& error) {
    if (options_.broken == BrokenPictures::stop) fail("{}; --broken skip leaves out what cannot be read", error.what());
    const std::lock_guard lock(mutex_);
    broken_.emplace(number, error.what());
    return nullptr;
  }
  keep(number, picture);
  return picture;
}

std::vector<std::string> PictureCache::broken() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> list;
  for (const auto& [number, reason] : broken_) list.push_back(reason);
  return list;
}

std::int64_t PictureCache::cached_bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace attend::data
