// JPEG through libjpeg-turbo. Errors of the library come back by longjmp, so the functions that call it (those with
// setjmp) hold nothing that has a destructor; memory is taken and freed by the functions around them.
#include <algorithm>
#include <string>
#include <utility>
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

// Each scan of a progressive file passes over the whole image; no honest file has nearly as many.
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
JpegOutcome size_jpeg(JpegReader& reader, int shrink) {
  if (setjmp(reader.jump)) return JpegOutcome::broken;
  reader.library.out_color_space = reader.library.num_components == 4 ? JCS_CMYK : JCS_RGB;
  reader.library.scale_num = 1, reader.library.scale_denom = static_cast<unsigned>(shrink);
  jpeg_calc_output_dimensions(&reader.library);
  return JpegOutcome::done;
}

JpegOutcome start_jpeg(JpegReader& reader) {
  if (setjmp(reader.jump)) return JpegOutcome::broken;
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

JpegOutcome read_jpeg_row(JpegReader& reader, JSAMPROW row) {
  if (setjmp(reader.jump)) return JpegOutcome::broken;
  return jpeg_read_scanlines(&reader.library, &row, 1) == 1 ? JpegOutcome::done : JpegOutcome::cut_short;
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

class JpegRows : public ImageRows {
 public:
  JpegRows(std::span<const std::byte> file, std::string_view source, const DecodeOptions& options)
      : ImageRows({}), source_(source) {
    std::memset(&reader_, 0, sizeof reader_);
    try {
      expect(read_jpeg_header(reader_, file));
      const int parts = reader_.library.num_components;
      check(parts == 1 || parts == 3 || parts == 4, "{}: a JPEG has 1, 3 or 4 components, not {}", source_, parts);
      const ImageHeader stored = stored_header();
      check_size(stored, source_, options);
      expect(size_jpeg(reader_, shrink_of(stored.width, stored.height, options)));
      header_ = {reader_.library.output_width, reader_.library.output_height, stored.memory};
    } catch (...) {
      jpeg_destroy_decompress(&reader_.library);
      throw;
    }
  }
  ~JpegRows() override { jpeg_destroy_decompress(&reader_.library); }

  int orientation() const { return jpeg_orientation(reader_); }

  void next(std::uint8_t* row) override {
    if (!std::exchange(started_, true)) {
      expect(start_jpeg(reader_));
      if (reader_.library.num_components == 4) inks_.resize(4 * static_cast<std::size_t>(width()));
    }
    expect(read_jpeg_row(reader_, inks_.empty() ? row : inks_.data()));
    if (!inks_.empty()) rgb_of_inks(inks_.data(), row, width());
  }

 private:
  void expect(JpegOutcome outcome) const {
    check(outcome != JpegOutcome::cut_short, "{}: the JPEG is cut short", source_);
    check(outcome == JpegOutcome::done, "{}: the JPEG is broken: {}", source_, reader_.message);
  }

  // A file of several scans is decoded from coefficients of 16 bits that are all kept.
  ImageHeader stored_header() {
    const jpeg_decompress_struct& library = reader_.library;
    const std::int64_t width = library.image_width, height = library.image_height;
    std::int64_t coefficients = 0, all = 0;
    for (int i = 0; i < library.num_components; ++i)
      all += std::int64_t{library.comp_info[i].h_samp_factor} * library.comp_info[i].v_samp_factor;
    const std::int64_t most = std::int64_t{library.max_h_samp_factor} * library.max_v_samp_factor;
    if (jpeg_has_multiple_scans(&reader_.library))
      coefficients = 2 * (width + 64) * (height + 64) * all / std::max<std::int64_t>(1, most);
    return {width, height, 3 * width * height * (orientation() > 1 ? 2 : 1) + coefficients};
  }

  std::string source_;
  JpegReader reader_;
  bool started_ = false;
  std::vector<std::uint8_t> inks_;  // a row of an image of four inks
};

}  // namespace

Opened open_jpeg(std::span<const std::byte> file, std::string_view source, const DecodeOptions& options) {
  auto rows = std::make_unique<JpegRows>(file, source, options);
  const int orientation = rows->orientation();
  return {std::move(rows), orientation};
}

#else

Opened open_jpeg(std::span<const std::byte>, std::string_view source, const DecodeOptions&) {
  fail("{}: this build of attend reads no JPEG: build it where libjpeg-dev is installed", source);
}

#endif

}  // namespace attend::image
