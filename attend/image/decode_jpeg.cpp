// JPEG through libjpeg-turbo. Errors of the library come back by longjmp, so the functions that call it (those with
// setjmp) hold nothing that has a destructor; memory is taken and freed by the functions around them.
#include <algorithm>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/image/exif.h"
#include "attend/image/formats.h"

#ifndef ATTEND_WITHOUT_JPEG
#include <csetjmp>
#include <cstdio>
#include <cstring>
// after <cstdio>, which it needs
#include <jpeglib.h>
#endif

namespace attend::image {

#ifndef ATTEND_WITHOUT_JPEG

namespace {

// Each scan of a progressive file passes over the whole picture; no honest file has nearly as many.
constexpr int kMostScans = 200;

struct JpegReader {
  jpeg_decompress_struct library;
  jpeg_error_mgr errors;
  jpeg_source_mgr source;
  jpeg_progress_mgr progress;
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
};

JpegReader& jpeg_reader_of(j_common_ptr library) { return *static_cast<JpegReader*>(library->client_data); }

extern "C" {

void attend_jpeg_error(j_common_ptr library) {
  JpegReader& reader = jpeg_reader_of(library);
  library->err->format_message(library, reader.message);
  std::longjmp(reader.jump, 1);
}
void attend_jpeg_message(j_common_ptr) {}  // warnings: as Pillow, we take what the library makes of it
void attend_jpeg_stub(j_decompress_ptr) {}
// All of the file is there from the start. When it ends too early the library pauses, and its functions say so.
boolean attend_jpeg_fill(j_decompress_ptr) { return FALSE; }
void attend_jpeg_skip(j_decompress_ptr library, long count) {
  jpeg_source_mgr& source = *library->src;
  const std::size_t skipped = count > 0 ? std::min(static_cast<std::size_t>(count), source.bytes_in_buffer) : 0;
  source.next_input_byte += skipped, source.bytes_in_buffer -= skipped;
}
void attend_jpeg_progress(j_common_ptr library) {
  if (!library->is_decompressor || reinterpret_cast<j_decompress_ptr>(library)->input_scan_number <= kMostScans) return;
  JpegReader& reader = jpeg_reader_of(library);
  std::snprintf(reader.message, sizeof reader.message, "more than %d scans", kMostScans);
  std::longjmp(reader.jump, 1);
}

}  // extern "C"

enum class JpegOutcome : std::uint8_t { done, cut_short, broken };

JpegOutcome read_jpeg_header(JpegReader& reader, std::span<const std::byte> file) {
  std::memset(&reader, 0, sizeof reader);
  reader.library.err = jpeg_std_error(&reader.errors);
  reader.library.client_data = &reader;
  reader.errors.error_exit = attend_jpeg_error;
  reader.errors.output_message = attend_jpeg_message;
  if (setjmp(reader.jump)) return JpegOutcome::broken;
  jpeg_create_decompress(&reader.library);
  reader.source.init_source = reader.source.term_source = attend_jpeg_stub;
  reader.source.fill_input_buffer = attend_jpeg_fill;
  reader.source.skip_input_data = attend_jpeg_skip;
  reader.source.resync_to_restart = jpeg_resync_to_restart;
  reader.source.next_input_byte = reinterpret_cast<const JOCTET*>(file.data());
  reader.source.bytes_in_buffer = file.size();
  reader.library.src = &reader.source;
  reader.progress.progress_monitor = attend_jpeg_progress;
  reader.library.progress = &reader.progress;
  jpeg_save_markers(&reader.library, JPEG_APP0 + 1, 0xFFFF);  // EXIF
  const int found = jpeg_read_header(&reader.library, TRUE);
  return found == JPEG_HEADER_OK ? JpegOutcome::done : JpegOutcome::cut_short;
}

// Sets the output's size.
JpegOutcome start_jpeg(JpegReader& reader, int shrink) {
  if (setjmp(reader.jump)) return JpegOutcome::broken;
  reader.library.out_color_space = reader.library.num_components == 4 ? JCS_CMYK : JCS_RGB;
  reader.library.scale_num = 1, reader.library.scale_denom = static_cast<unsigned>(shrink);
  return jpeg_start_decompress(&reader.library) ? JpegOutcome::done : JpegOutcome::cut_short;
}

// The inks come inverted: 255 is none of it.
void rgb_of_inks(const std::uint8_t* inks, std::uint8_t* rgb, int width) {
  for (int x = 0; x < width; ++x, inks += 4, rgb += 3) {
    const int light = inks[3];
    for (int c = 0; c < 3; ++c) {
      const int product = (255 - inks[c]) * light + 128;
      rgb[c] = static_cast<std::uint8_t>(light - (((product >> 8) + product) >> 8));
    }
  }
}

// inks: room for one row of a picture of four inks.
JpegOutcome read_jpeg_rows(JpegReader& reader, Image& image, std::uint8_t* inks) {
  if (setjmp(reader.jump)) return JpegOutcome::broken;
  while (reader.library.output_scanline < reader.library.output_height) {
    const int y = static_cast<int>(reader.library.output_scanline);
    JSAMPROW row = inks ? inks : image.row(y);
    if (jpeg_read_scanlines(&reader.library, &row, 1) != 1) return JpegOutcome::cut_short;
    if (inks) rgb_of_inks(inks, image.row(y), image.width);
  }
  return JpegOutcome::done;
}

int jpeg_orientation(const JpegReader& reader) {
  for (auto marker = reader.library.marker_list; marker; marker = marker->next) {
    const auto bytes = std::as_bytes(std::span(marker->data, marker->data_length));
    if (marker->marker == JPEG_APP0 + 1 && bytes.size() >= 5 && std::memcmp(bytes.data(), "Exif", 5) == 0)
      return exif_orientation(bytes);
  }
  return 1;
}

// Pillow's draft mode: the largest of 8, 4, 2 that leaves at least the size that is asked for.
int shrink_of(std::int64_t width, std::int64_t height, const DecodeOptions& options) {
  if (options.draft_width <= 0 || options.draft_height <= 0) return 1;
  const std::int64_t times = std::min(width / options.draft_width, height / options.draft_height);
  return times >= 8 ? 8 : times >= 4 ? 4 : times >= 2 ? 2 : 1;
}

}  // namespace

Decoded decode_jpeg(std::span<const std::byte> file, std::string_view source, const DecodeOptions& options) {
  struct Closer {
    JpegReader reader;
    ~Closer() { jpeg_destroy_decompress(&reader.library); }  // also of one that was never made: all zero
  } closer;
  JpegReader& reader = closer.reader;
  const auto expect = [&](JpegOutcome outcome) {
    check(outcome != JpegOutcome::cut_short, "{}: the JPEG is cut short", source);
    check(outcome == JpegOutcome::done, "{}: the JPEG is broken: {}", source, reader.message);
  };
  expect(read_jpeg_header(reader, file));
  const std::int64_t width = reader.library.image_width, height = reader.library.image_height;
  check_size(width, height, source, options);
  const int parts = reader.library.num_components;
  check(parts == 1 || parts == 3 || parts == 4, "{}: a JPEG has 1, 3 or 4 components, not {}", source, parts);
  expect(start_jpeg(reader, shrink_of(width, height, options)));
  Decoded decoded;
  decoded.orientation = jpeg_orientation(reader);
  decoded.image = Image(static_cast<int>(reader.library.output_width), static_cast<int>(reader.library.output_height));
  std::vector<std::uint8_t> inks(parts == 4 ? 4 * static_cast<std::size_t>(decoded.image.width) : 0);
  expect(read_jpeg_rows(reader, decoded.image, inks.empty() ? nullptr : inks.data()));
  return decoded;
}

#else

Decoded decode_jpeg(std::span<const std::byte>, std::string_view source, const DecodeOptions&) {
  fail("{}: this build of attend reads no JPEG: build it where libjpeg-dev is installed", source);
}

#endif

}  // namespace attend::image
