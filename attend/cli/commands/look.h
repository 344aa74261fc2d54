// attend look: a page on which a person sees the attention of a model happen; or a file of one sentence or one
// image.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attend/base/limits.h"
#include "attend/cli/support/device_flags.h"
#include "attend/cli/support/figure_flags.h"
#include "attend/cli/support/streams.h"

namespace attend::cli {

class Flags;

struct LookOptions {
  std::string model;   // a folder, or the name of a shipped model; empty: the shipped one
  std::string beside;  // a second one that writes about the same images, or draws from the same noise
  // A training run's folder, its curves and images beside its model; then those it is compared with.
  std::vector<std::string> runs;
  std::string host = "127.0.0.1";
  int port = 8080;
  std::string text, image;                                  // of the files below
  std::string export_file;                                  // the page with its data in one file
  std::string svg_file, png_file;                           // the attention as one image
  std::string view = "map", stack, word, without = "head";  // which figure
  std::int64_t layer = 0, head = 0;                         // from 1; 0: the clearest
  FigureFlags figure = {};
  std::int64_t max_pixels = limits::kMostPixels;  // of the image
  DeviceFlags device = {};
};

void run_look(const LookOptions& options, const Streams& streams);
void add_look_command(Flags& program, const Streams& streams);

}  // namespace attend::cli
