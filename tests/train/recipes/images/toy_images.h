// Images that a tiny model learns in seconds: a bright square in one of the corners, on noise; which corner is the
// label. A folder per class, train/ and valid/.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

#include "attend/base/files.h"
#include "attend/image/encode.h"

namespace attend::test {

inline image::Image corner_image(int corner, unsigned seed) {
  image::Image image(16, 16);
  for (std::uint8_t& pixel : image.pixels) {
    seed = seed * 1664525u + 1013904223u;
    pixel = static_cast<std::uint8_t>(seed >> 25);
  }
  const int top = corner / 2 * 8, left = corner % 2 * 8;
  for (int y = top + 1; y < top + 7; ++y)
    for (int x = 3 * (left + 1); x < 3 * (left + 7); ++x) image.row(y)[x] = 230;
  return image;
}

inline void write_toy_images(const std::filesystem::path& folder) {
  constexpr const char* kNames[] = {"north-west", "north-east", "south-west", "south-east"};
  for (int corner = 0; corner < 4; ++corner)
    for (int i = 0; i < 24; ++i)
      write_file(folder / (i < 16 ? "train" : "valid") / kNames[corner] / (std::to_string(i) + ".png"),
                 image::encode_png(corner_image(corner, static_cast<unsigned>(24 * corner + i))));
}

// attend train's words; more goes behind them.
inline std::vector<std::string> toy_image_training(const std::filesystem::path& folder,
                                                   const std::filesystem::path& out,
                                                   std::initializer_list<const char*> more = {}) {
  std::vector<std::string> args = {"train",
                                   "--task",
                                   "classify-images",
                                   "--train",
                                   (folder / "train").string(),
                                   "--valid",
                                   (folder / "valid").string(),
                                   "--out",
                                   out.string(),
                                   "--width",
                                   "16",
                                   "--heads",
                                   "2",
                                   "--layers",
                                   "2",
                                   "--batch",
                                   "16",
                                   "--image-size",
                                   "16",
                                   "--no-flip",
                                   "--crop",
                                   "none",
                                   "--mean",
                                   "0.5",
                                   "--std",
                                   "0.5",
                                   "--learning-rate",
                                   "3e-3"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

// A generator and a discriminator of a few channels.
inline std::vector<std::string> toy_draw_training(const std::filesystem::path& folder, const std::filesystem::path& out,
                                                  std::initializer_list<const char*> more = {}) {
  std::vector<std::string> args = {
      "train",
      "--task",
      "draw",
      "--train",
      (folder / "train").string(),
      "--valid",
      (folder / "valid").string(),
      "--out",
      out.string(),
      "--image-size",
      "16",
      "--batch",
      "8",
      "--attention-stage",
      "1",
      "--config",
      R"({"noise_size": 8, "generator_widths": [8, 8, 8], "discriminator_widths": [8, 8], "discriminator_halvings": 2})"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

}  // namespace attend::test
