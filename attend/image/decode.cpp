#include "attend/image/decode.h"

#include <cstring>
#include <string>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/image/exif.h"
#include "attend/image/formats.h"

namespace attend::image {

namespace {

bool begins(std::span<const std::byte> file, std::string_view with, std::size_t at = 0) {
  return file.size() >= at + with.size() && std::memcmp(file.data() + at, with.data(), with.size()) == 0;
}

// Pictures that people have and we do not read.
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
  fail("{}: is no picture: it begins like no JPEG, PNG or WebP", source);
}

void check_size(std::int64_t width, std::int64_t height, std::string_view source, const DecodeOptions& options) {
  check(width > 0 && height > 0, "{}: the picture is empty: {} x {}", source, width, height);
  check(width <= options.most_pixels / height, "{}: a picture of {} x {} is too large: at most {} pixels are read",
        source, width, height, options.most_pixels);
}

Image decode(std::span<const std::byte> file, std::string_view source, const DecodeOptions& options) {
  const FileKind kind = kind_of(file, source);
  const auto reader = kind == FileKind::jpeg ? decode_jpeg : kind == FileKind::png ? decode_png : decode_webp;
  Decoded decoded = reader(file, source, options);
  return options.upright ? upright(std::move(decoded.image), decoded.orientation) : std::move(decoded.image);
}

Image read_image(const std::filesystem::path& path, const DecodeOptions& options) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  check(std::filesystem::exists(status), "{}: there is no such file", path.string());
  check(std::filesystem::is_regular_file(status), "{}: is not a file", path.string());
  const auto size = std::filesystem::file_size(path, error);
  check(!error, "{}: {}", path.string(), error.message());
  check(size <= static_cast<std::uintmax_t>(options.most_bytes), "{}: {} bytes are too many: a picture has at most {}",
        path.string(), size, options.most_bytes);
  const std::string file = read_file(path);
  return decode(std::as_bytes(std::span(file)), path.string(), options);
}

}  // namespace attend::image
