// Images that a command is given: files and folders of them, read and prepared in threads, a batch at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/output_files.h"
#include "attend/cli/support/streams.h"
#include "attend/image/image_rows.h"

namespace attend::cli {

class Flags;

// --max-pixels
void add_max_pixels_flag(Flags& flags, std::int64_t& max_pixels);

// Folders become the images in them, by name. command opens messages.
std::vector<std::string> image_files(const std::vector<std::string>& arguments, std::string_view command);

// The file of an image's figure: the first has the name that was asked for, the others a number (figure-2.png).
std::filesystem::path numbered(const std::filesystem::path& path, std::int64_t number);
// All names that it may take, for so many images; none where no figure was asked for.
std::vector<OutputFiles::Named> figures_of(const std::string& flag, const std::string& path, std::size_t images);
// Throws Error where results would go to a file that is called as an image is: one that was given by mistake.
void check_results(const std::string& path, std::string_view command);

// A batch: what could be read, prepared, and under which names.
struct ImageBatch {
  std::vector<std::string> files;
  std::vector<image::Image> images;
};

struct ImageInput {
  std::vector<std::string> arguments;
  std::int64_t batch = 32;
  std::int64_t max_pixels = limits::kMostPixels;
  std::string_view command;
  std::function<image::Image(image::ImageRows&)> prepare;
};

// Some images could not be read; the answers about the others stand.
class UnreadImages : public Error {
 public:
  using Error::Error;
};

// Hands over all images in batches, in order. One that cannot be read is told on err, and the others are read all the
// same; in the end that is an UnreadImages, or an Error where there was none to be read. Ctrl-C ends it after a
// batch.
void for_each_image_batch(const ImageInput& input, const Streams& streams,
                          const std::function<void(const ImageBatch&)>& run);

}  // namespace attend::cli
