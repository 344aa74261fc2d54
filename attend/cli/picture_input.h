// Pictures that a command is given: files and folders of them, read and prepared in threads, a batch at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attend/cli/streams.h"
#include "attend/image/image.h"

namespace attend {

// Folders become the pictures in them, by name. command opens messages.
std::vector<std::string> picture_files(const std::vector<std::string>& arguments, std::string_view command);

// The file of a picture's figure: the first has the name that was asked for, the others a number (figure-2.png).
std::filesystem::path numbered(const std::filesystem::path& path, std::int64_t number);
// Throws Error where a figure would be written over one of the pictures that it is of.
void check_figures(const std::vector<std::string>& figures, const std::vector<std::string>& files,
                   std::string_view command);
// The same of a single file, which is no picture either: a picture given by mistake where its name belongs.
void check_results(const std::string& path, std::string_view command);

// A batch: what could be read, prepared, and under which names.
struct PictureBatch {
  std::vector<std::string> files;
  std::vector<image::Image> pictures;
};

struct PictureInput {
  std::vector<std::string> arguments;
  std::int64_t batch = 32;
  std::string_view command;
  std::function<image::Image(const image::Image&)> prepare;
};

// Hands over all pictures in batches, in order. One that cannot be read is told on err, and the others are read all the
// same; in the end that is an Error.
void for_each_picture_batch(const PictureInput& input, const Streams& streams,
                            const std::function<void(const PictureBatch&)>& run);

}  // namespace attend
