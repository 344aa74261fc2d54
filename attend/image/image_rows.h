// An image that is decoded row by row, from top to bottom: one that is only resized is never whole in memory. Where a
// format gives all rows at once (WebP, interlaced PNG, images that have to be turned upright), they are kept until they
// are read. Nothing is decoded before the first row is asked for.
#pragma once

#include <cstdint>

#include "attend/image/image.h"

namespace attend::image {

// What the first bytes of a file say.
struct ImageHeader {
  std::int64_t width = 0, height = 0;
  std::int64_t memory = 0;  // bytes that decoding takes at most, where all pixels are kept
};

class ImageRows {
 public:
  explicit ImageRows(const ImageHeader& header) : header_(header) {}
  virtual ~ImageRows() = default;
  ImageRows(const ImageRows&) = delete;
  ImageRows& operator=(const ImageRows&) = delete;

  int width() const { return static_cast<int>(header_.width); }
  int height() const { return static_cast<int>(header_.height); }
  std::size_t row_bytes() const { return 3 * static_cast<std::size_t>(header_.width); }
  const ImageHeader& header() const { return header_; }

  // The next row of RGB: row_bytes() of it. Called height() times at most. Throws Error where the file is broken.
  virtual void next(std::uint8_t* row) = 0;
  // All rows, in place of next().
  virtual Image whole();

 protected:
  ImageHeader header_;
};

// Rows of an image that came whole.
class KeptRows : public ImageRows {
 public:
  using ImageRows::ImageRows;
  void next(std::uint8_t* row) final;
  Image whole() final { return decode(); }

 protected:
  virtual Image decode() = 0;  // called once

 private:
  Image image_;
  int at_ = 0;
};

}  // namespace attend::image
