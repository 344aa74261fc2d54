// JPEG through libjpeg-turbo; the function with setjmp holds nothing that has a destructor, as in decode_jpeg.cpp.
#include "attend/base/error.h"
#include "attend/image/encode.h"

#ifndef ATTEND_WITHOUT_JPEG
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
// after <cstdio>, which it needs
#include <jpeglib.h>
#endif

namespace attend::image {

#ifndef ATTEND_WITHOUT_JPEG

namespace {

struct JpegWriter {
  jpeg_compress_struct library;
  jpeg_error_mgr errors;
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
  unsigned char* bytes;  // malloc's, made by the library
  unsigned long size;
};

extern "C" {

void attend_jpeg_write_error(j_common_ptr library) {
  JpegWriter& writer = *static_cast<JpegWriter*>(library->client_data);
  library->err->format_message(library, writer.message);
  std::longjmp(writer.jump, 1);
}
void attend_jpeg_write_message(j_common_ptr) {}

}  // extern "C"

bool write_jpeg(JpegWriter& writer, const Image& image, const JpegOptions& options) {
  std::memset(&writer, 0, sizeof writer);
  writer.library.err = jpeg_std_error(&writer.errors);
  writer.library.client_data = &writer;
  writer.errors.error_exit = attend_jpeg_write_error;
  writer.errors.output_message = attend_jpeg_write_message;
  if (setjmp(writer.jump)) return false;
  jpeg_create_compress(&writer.library);
  jpeg_mem_dest(&writer.library, &writer.bytes, &writer.size);
  writer.library.image_width = static_cast<JDIMENSION>(image.width);
  writer.library.image_height = static_cast<JDIMENSION>(image.height);
  writer.library.input_components = image.channels;
  writer.library.in_color_space = image.channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
  jpeg_set_defaults(&writer.library);
  jpeg_set_quality(&writer.library, options.quality, TRUE);
  if (options.progressive) jpeg_simple_progression(&writer.library);
  if (options.full_colour) writer.library.comp_info[0].h_samp_factor = writer.library.comp_info[0].v_samp_factor = 1;
  jpeg_start_compress(&writer.library, TRUE);
  while (writer.library.next_scanline < writer.library.image_height) {
    // The library only reads, but its type does not say so.
    JSAMPROW row = const_cast<JSAMPROW>(image.row(static_cast<int>(writer.library.next_scanline)));
    jpeg_write_scanlines(&writer.library, &row, 1);
  }
  jpeg_finish_compress(&writer.library);
  return true;
}

}  // namespace

std::string encode_jpeg(const Image& image, const JpegOptions& options) {
  check_image(image, "jpeg");
  check(image.channels == 1 || image.channels == 3, "jpeg: an image has 1 or 3 channels, not {}", image.channels);
  check(image.width <= JPEG_MAX_DIMENSION && image.height <= JPEG_MAX_DIMENSION,
        "jpeg: an image of {} x {} is too large: at most {} each way", image.width, image.height, JPEG_MAX_DIMENSION);
  check(options.quality >= 1 && options.quality <= 100, "jpeg: quality is 1 to 100, not {}", options.quality);
  struct Closer {
    JpegWriter writer;
    ~Closer() {
      jpeg_destroy_compress(&writer.library);
      std::free(writer.bytes);
    }
  } closer;
  check(write_jpeg(closer.writer, image, options), "jpeg: {}", closer.writer.message);
  return {reinterpret_cast<const char*>(closer.writer.bytes), closer.writer.size};
}

#else

std::string encode_jpeg(const Image&, const JpegOptions&) { fail("jpeg: this build of attend has no libjpeg"); }

#endif

}  // namespace attend::image
