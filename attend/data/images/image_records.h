// Files of small images of one size, one behind the other, with their labels:
//   MNIST's idx: train-images-idx3-ubyte with train-labels-idx1-ubyte beside it, each plain or compressed (.gz); grey
//   CIFAR's binary version: a byte of label (CIFAR-100: a coarse and a fine one), then planes of red, green and blue
// They are read whole, since the largest have some 150 MB, and checked before anything else looks at them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "attend/image/image.h"

namespace attend::data {

struct ImageRecords {
  std::string path;
  std::string bytes;                  // of the file, inflated
  std::size_t first = 0, stride = 0;  // where the pixels of the first begin, and from one to the next
  int width = 0, height = 0, planes = 1;
  std::vector<std::int32_t> labels = {};
  std::int32_t classes = 0;  // labels are below

  std::int64_t size() const { return static_cast<std::int64_t>(labels.size()); }
  image::Image image(std::int64_t i) const;  // RGB; grey three times
};

// By their names, compressed or not: "train-images-idx3-ubyte.gz", "data_batch_1.bin".
bool is_idx_name(const std::string& name);
bool is_cifar_name(const std::string& name);

// Throw Error that names the file and what was expected. Labels of idx files are below classes.
ImageRecords read_idx(const std::filesystem::path& images, std::int32_t classes);
ImageRecords read_cifar(const std::filesystem::path& path);

}  // namespace attend::data
