// PNG through libpng, which turns every kind into 8 bit RGB as it reads; only 16 bit grey is ours. As with JPEG, errors
// come back by longjmp: the functions with setjmp hold nothing that has a destructor.
#include <algorithm>
#include <string>
#include <utility>

#include "attend/base/error.h"
#include "attend/image/exif.h"
#include "attend/image/formats.h"

#ifndef ATTEND_WITHOUT_PNG
#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>
#endif

namespace attend::image {

#ifndef ATTEND_WITHOUT_PNG

namespace {

struct PngReader {
  png_structp library;
  png_infop info;
  const png_byte* next;
  std::size_t left;
  bool cut_short;
  std::jmp_buf jump;
  char message[160];
};

extern "C" {

[[noreturn]] void attend_png_error(png_structp library, png_const_charp message) {
  PngReader& reader = *static_cast<PngReader*>(png_get_error_ptr(library));
  std::snprintf(reader.message, sizeof reader.message, "%s", message);
  std::longjmp(reader.jump, 1);
}
void attend_png_warning(png_structp, png_const_charp) {}
void attend_png_read(png_structp library, png_bytep to, std::size_t count) {
  PngReader& reader = *static_cast<PngReader*>(png_get_io_ptr(library));
  if (count > reader.left) {
    reader.cut_short = true;
    png_error(library, "the file ends too early");
  }
  std::memcpy(to, reader.next, count);
  reader.next += count, reader.left -= count;
}

}  // extern "C"

// Text and colour profiles decide no pixel and may unpack to anything.
constexpr png_byte kSkipped[] = "iCCP\0zTXt\0iTXt\0tEXt\0sPLT\0eXIf";

// More pixels than any limit allows, and few enough to be multiplied by the bytes of one.
constexpr std::int64_t kMostCounted = std::int64_t{1} << 56;

bool read_png_header(PngReader& reader, std::span<const std::byte> file) {
  std::memset(&reader, 0, sizeof reader);
  reader.next = reinterpret_cast<const png_byte*>(file.data());
  reader.left = file.size();
  if (setjmp(reader.jump)) return false;
  reader.library = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, attend_png_error, attend_png_warning);
  if (reader.library) reader.info = png_create_info_struct(reader.library);
  if (!reader.info) {
    std::snprintf(reader.message, sizeof reader.message, "out of memory");
    return false;
  }
  png_set_read_fn(reader.library, &reader, attend_png_read);
  png_set_user_limits(reader.library, 0x7fffffff, 0x7fffffff);  // check_size() has the say
  png_set_keep_unknown_chunks(reader.library, PNG_HANDLE_CHUNK_NEVER, kSkipped, sizeof kSkipped / 5);
  png_read_info(reader.library, reader.info);
  return true;
}

bool is_deep_grey(const PngReader& reader) {
  return png_get_color_type(reader.library, reader.info) == PNG_COLOR_TYPE_GRAY &&
         png_get_bit_depth(reader.library, reader.info) == 16;
}

// A row of 16 bit grey at the front of a row of RGB becomes that row.
void spread_deep_grey(std::uint8_t* row, int width) {
  for (int x = width - 1; x >= 0; --x) {
    const std::uint8_t grey = row[2 * x] != 0 ? 255 : row[2 * x + 1];
    for (int c = 0; c < 3; ++c) row[3 * x + c] = grey;
  }
}

// The number of passes, or 0 where it fails. row_bytes: how long rows may be.
int start_png(PngReader& reader, std::size_t row_bytes) {
  if (setjmp(reader.jump)) return 0;
  if (!is_deep_grey(reader)) {
    png_set_strip_16(reader.library);
    png_set_palette_to_rgb(reader.library);
    png_set_expand_gray_1_2_4_to_8(reader.library);
    png_set_gray_to_rgb(reader.library);
    png_set_strip_alpha(reader.library);
  }
  const int passes = png_set_interlace_handling(reader.library);
  png_read_update_info(reader.library, reader.info);
  if (png_get_rowbytes(reader.library, reader.info) > row_bytes) png_error(reader.library, "rows are too long");
  return passes;
}

bool read_png_row(PngReader& reader, std::uint8_t* row) {
  if (setjmp(reader.jump)) return false;
  png_read_row(reader.library, row, nullptr);
  return true;
}

std::uint32_t big_endian_at(std::span<const std::byte> file, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number = number << 8 | std::to_integer<std::uint32_t>(file[at + i]);
  return number;
}

// The chunk may come before the pixels or after them.
int png_orientation(std::span<const std::byte> file) {
  for (std::size_t at = 8; at + 12 <= file.size();) {
    const std::size_t size = big_endian_at(file, at);
    if (size > file.size() - at - 12) break;
    if (std::memcmp(file.data() + at + 4, "eXIf", 4) == 0) return exif_orientation(file.subspan(at + 8, size));
    at += 12 + size;
  }
  return 1;
}

// Closes the library, also where its header could not be read.
class OpenPng {
 public:
  OpenPng(std::span<const std::byte> file, std::string_view source)
      : source_(source), orientation_(png_orientation(file)) {
    if (!read_png_header(reader_, file)) {
      png_destroy_read_struct(&reader_.library, &reader_.info, nullptr);
      expect(false);
    }
  }
  ~OpenPng() { png_destroy_read_struct(&reader_.library, &reader_.info, nullptr); }
  OpenPng(const OpenPng&) = delete;
  OpenPng& operator=(const OpenPng&) = delete;

  void expect(bool done) const {
    check(done || !reader_.cut_short, "{}: the PNG is cut short", source_);
    check(done, "{}: the PNG is broken: {}", source_, reader_.message);
  }
  int orientation() const { return orientation_; }
  bool interlaced() const { return png_get_interlace_type(reader_.library, reader_.info) != PNG_INTERLACE_NONE; }

  // libpng holds two rows more, of up to 8 bytes a pixel.
  ImageHeader header() const {
    const std::int64_t width = png_get_image_width(reader_.library, reader_.info),
                       height = png_get_image_height(reader_.library, reader_.info);
    // Either side may claim 2^31 - 1; the product below then stays a number, and check_size() refuses the image.
    const std::int64_t pixels = std::min(width * height, kMostCounted);
    return {width, height, 3 * pixels * (orientation_ > 1 ? 2 : 1) + 16 * width};
  }
  int start(std::size_t row_bytes) {
    const int passes = start_png(reader_, row_bytes);
    expect(passes > 0);
    return passes;
  }
  void read(std::uint8_t* row) { expect(read_png_row(reader_, row)); }
  void spread(std::uint8_t* row, int width) const {
    if (is_deep_grey(reader_)) spread_deep_grey(row, width);
  }

 private:
  std::string source_;
  int orientation_;
  PngReader reader_;
};

class PngRows : public ImageRows {
 public:
  explicit PngRows(std::unique_ptr<OpenPng> png) : ImageRows(png->header()), png_(std::move(png)) {}
  void next(std::uint8_t* row) override {
    if (!std::exchange(started_, true)) png_->start(row_bytes());
    png_->read(row);
    png_->spread(row, width());
  }

 private:
  std::unique_ptr<OpenPng> png_;
  bool started_ = false;
};

// Seven passes over all rows.
class InterlacedPngRows : public KeptRows {
 public:
  explicit InterlacedPngRows(std::unique_ptr<OpenPng> png) : KeptRows(png->header()), png_(std::move(png)) {}

 private:
  Image decode() override {
    Image image(width(), height());
    const int passes = png_->start(row_bytes());
    for (int pass = 0; pass < passes; ++pass)
      for (int y = 0; y < image.height; ++y) png_->read(image.row(y));
    for (int y = 0; y < image.height; ++y) png_->spread(image.row(y), image.width);
    return image;
  }

  std::unique_ptr<OpenPng> png_;
};

}  // namespace

Opened open_png(std::span<const std::byte> file, std::string_view source, const DecodeOptions& options) {
  auto png = std::make_unique<OpenPng>(file, source);
  check_size(png->header(), source, options);
  const int orientation = png->orientation();
  if (png->interlaced()) return {std::make_unique<InterlacedPngRows>(std::move(png)), orientation};
  return {std::make_unique<PngRows>(std::move(png)), orientation};
}

#else

Opened open_png(std::span<const std::byte>, std::string_view source, const DecodeOptions&) {
  fail("{}: this build of attend reads no PNG: build it where libpng-dev is installed", source);
}

#endif

}  // namespace attend::image
