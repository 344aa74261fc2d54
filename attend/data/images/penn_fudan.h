// The Penn-Fudan database of pedestrians (Wang et al. 2007): a text file of boxes for each image, in the manner of
// PASCAL's first annotations. Pixels count from 1 there, and the last one belongs to the box.
#pragma once

#include <filesystem>
#include <vector>

#include "attend/data/images/annotations.h"

namespace attend::data {

struct PennFudanImage {
  std::filesystem::path file;
  int width = 0, height = 0;
  std::vector<Box> boxes;
};

// In the order of the files' names. Throws Error naming the file and the line.
std::vector<PennFudanImage> read_penn_fudan(const std::filesystem::path& folder);

}  // namespace attend::data
