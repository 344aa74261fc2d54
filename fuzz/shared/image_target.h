// What the targets of image files share: whatever is decoded is decoded the same way row by row, and resized alike.
#pragma once

#include "attend/image/decode.h"
#include "attend/image/resize.h"
#include "fuzz/shared/target.h"

namespace attend::fuzz {

inline void enter_image(std::string_view bytes) {
  const std::span<const std::byte> file = std::as_bytes(std::span(bytes));
  const image::DecodeOptions options{.most_pixels = 1 << 18};
  image::Image whole;
  bool decoded = false;
  attempt([&] {
    const auto rows = image::open_rows(file, "file", options);
    must(rows->header().width * rows->header().height <= options.most_pixels, "the limit holds");
    must(rows->header().memory <= limits::kMostBytesPerPixel * options.most_pixels, "that of memory, too");
    whole = rows->whole();
    decoded = true;
    must(whole.width == rows->width() && whole.height == rows->height(), "an image is as large as its header says");
  });
  const image::ResizeOptions small{.filter = image::Filter::bilinear};
  bool resized = false;
  attempt([&] {
    const auto rows = image::open_rows(file, "file", options);
    const image::Image prepared = image::resize(*rows, 8, 6, small);
    resized = true;
    must(decoded && prepared == image::resize(whole, 8, 6, small), "rows are those of the whole image");
  });
  must(decoded == resized, "what is decoded whole is decoded by rows");
  attempt([&] {
    const image::Image draft = image::decode(
        file, "file", {.upright = false, .draft_width = 4, .draft_height = 4, .most_pixels = options.most_pixels});
    must(draft.width > 0 && draft.height > 0, "a draft has pixels");
  });
}

}  // namespace attend::fuzz
