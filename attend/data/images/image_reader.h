// Images of a list by their numbers, for any number of threads: those that were decoded are kept while there is room,
// and those that cannot be read are remembered.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "attend/data/images/labelled_images.h"
#include "attend/image/image.h"

namespace attend::data {

enum class BrokenImages : std::uint8_t {
  stop,  // one that cannot be read is an Error
  skip,  // another takes its place
};

struct ImageReaderOptions {
  BrokenImages broken = BrokenImages::stop;
  std::int64_t cache_bytes = std::int64_t{2} << 30;  // of pixels that are kept
};

// Any images that have numbers.
class ImageCache {
 public:
  struct Source {
    std::int64_t count = 0;
    bool decoded = false;  // pixels are at hand: nothing is kept
    std::function<image::Image(std::int64_t number)> read;
  };
  ImageCache(Source source, const ImageReaderOptions& options);

  std::int64_t size() const { return source_.count; }
  // Null for a broken one, where those are skipped.
  std::shared_ptr<const image::Image> read(std::int64_t number);
  // What is wrong with those that were skipped so far, each once, in the order of the list.
  std::vector<std::string> broken() const;
  std::int64_t cached_bytes() const;

 private:
  // True when the answer is known: image, or null for a broken one.
  bool find(std::int64_t number, std::shared_ptr<const image::Image>& image) const;
  void keep(std::int64_t number, const std::shared_ptr<const image::Image>& image);

  Source source_;
  ImageReaderOptions options_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const image::Image>> kept_;  // by number; empty where nothing is kept
  std::int64_t bytes_ = 0;                                 // of kept_
  std::map<std::int64_t, std::string> broken_;
};

class ImageReader : public ImageCache {
 public:
  // The images must outlive this.
  ImageReader(const LabelledImages& images, const ImageReaderOptions& options = {});

  const LabelledImages& images() const { return images_; }

 private:
  const LabelledImages& images_;
};

}  // namespace attend::data
