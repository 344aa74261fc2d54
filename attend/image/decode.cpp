#include "attend/image/decode.h"

#include <cstring>
#include <string>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/mapped_file.h"
#include "attend/image/exif.h"
#include "attend/image/formats.h"

namespace attend::image {

namespace {

bool begins(std::span<const std::byte> file, std::string_view with, std::size_t at = 0) {
  return file.size() >= at + with.size() && std::memcmp(file.data() + at, with.data(), with.size()) == 0;
}

// Images that people have and we do not read.
const char* known_name(std::span<const std::byte> file) {
  if (begins(file, "GIF8")) return "a GIF";
  if (begins(file, "BM")) return "a BMP";
  if (begins(file, std::string_view("II*\0", 4)) || begins(file, std::string_view("MM\0*", 4))) return "a TIFF";
  if (begins(file, "ftypavif", 4)) return "an AVIF";
  if (begins(file, "ftyphei", 4) || begins(file, "ftypmif1", 4)) return "a HEIC";
  if (begins(file, "\xff\x0a") || begins(file, "JXL ", 4)) return "a JPEG XL";
  if (begins(file, "<svg") || begins(file, "<?xml")) return "an SVG";
  return nullptr;
}

}  // namespace

FileKind kind_of(std::span<const std::byte> file, std::string_view source) {
  check(!file.empty(), "{}: the file is empty", source);
  if (begins(file, "\xff\xd8\xff")) return FileKind::jpeg;
  if (begins(file, "\x89PNG\r\n\x1a\n")) return FileKind::png;
  if (begins(file, "RIFF") && begins(file, "WEBP", 8)) return FileKind::webp;
  if (const char* name = known_name(file)) fail("{}: is {}; JPEG, PNG and WebP are read", source, name);
  fail("{}: is no image: it begins like no JPEG, PNG or WebP", source);
}

void check_size(const ImageHeader& header, std::string_view source, const DecodeOptions& options) {
  const auto& [width, height, memory] = header;
  check_extent(width, height, options.most_pixels, source);
  const std::int64_t most =
      options.most_memory > 0 ? options.most_memory : limits::kMostBytesPerPixel * options.most_pixels;
  check(memory <= most, "{}: an image of {} x {} is too large: decoding it takes {} bytes, and at most {} are taken",
        source, width, height, memory, most);
}

namespace {

// The image turned upright, which takes all of it.
class UprightRows : public KeptRows {
 public:
  UprightRows(std::unique_ptr<ImageRows> stored, int orientation)
      : KeptRows(stored->header()), stored_(std::move(stored)), orientation_(orientation) {
    if (orientation >= 5) std::swap(header_.width, header_.height);
  }

 private:
  Image decode() override { return upright(stored_->whole(), orientation_); }

  std::unique_ptr<ImageRows> stored_;
  int orientation_;
};

// Rows of a file, which stays mapped.
class FileRows : public ImageRows {
 public:
  FileRows(MappedFile file, const std::filesystem::path& path, const DecodeOptions& options)
      : ImageRows({}), file_(std::move(file)), name_(path.string()), rows_(open_rows(file_.bytes(), name_, options)) {
    header_ = rows_->header();
  }
  void next(std::uint8_t* row) override {
    rows_->next(row);
    if (++read_ == header_.height) file_.check_whole();
  }
  Image whole() override {
    Image image = rows_->whole();
    file_.check_whole();
    return image;
  }

 private:
  MappedFile file_;
  std::string name_;
  std::unique_ptr<ImageRows> rows_;
  std::int64_t read_ = 0;
};

}  // namespace

std::unique_ptr<ImageRows> open_rows(std::span<const std::byte> file, std::string_view source,
                                     const DecodeOptions& options) {
  if (begins(file, "P6\n")) return open_ppm(file, source, options).rows;
  const FileKind kind = kind_of(file, source);
  const auto open = kind == FileKind::jpeg ? open_jpeg : kind == FileKind::png ? open_png : open_webp;
  Opened opened = open(file, source, options);
  if (!options.upright || opened.orientation <= 1) return std::move(opened.rows);
  return std::make_unique<UprightRows>(std::move(opened.rows), opened.orientation);
}

std::unique_ptr<ImageRows> open_rows(const std::filesystem::path& path, const DecodeOptions& options) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  check(std::filesystem::exists(status), "{}: there is no such file", path.string());
  check(std::filesystem::is_regular_file(status), "{}: is not a file", path.string());
  const auto size = std::filesystem::file_size(path, error);
  check(!error, "{}: {}", path.string(), error.message());
  check(size <= static_cast<std::uintmax_t>(options.most_bytes), "{}: {} bytes are too many: an image has at most {}",
        path.string(), size, options.most_bytes);
  return std::make_unique<FileRows>(MappedFile(path), path, options);
}

Image decode(std::span<const std::byte> file, std::string_view source, const DecodeOptions& options) {
  return open_rows(file, source, options)->whole();
}

Image read_image(const std::filesystem::path& path, const DecodeOptions& options) {
  return open_rows(path, options)->whole();
}

}  // namespace attend::image
