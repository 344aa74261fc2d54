// MNIST's idx files with their labels, and CIFAR's binary files, plain or compressed.
#include "attend/data/images/image_records.h"
#include "attend/data/images/labelled_images.h"
#include "fuzz/shared/target.h"

namespace attend::fuzz {

const Target kTarget = {.file = "data_batch_1.bin"};

namespace {

void use(const data::ImageRecords& records) {
  must(records.size() > 0, "a file that is taken has images");
  for (const std::int32_t label : records.labels) must(label >= 0 && label < records.classes, "labels are classes");
  for (const std::int64_t i : {std::int64_t{0}, records.size() - 1}) {
    const image::Image image = records.image(i);
    must(image.width == records.width && image.height == records.height, "images are as large as it says");
  }
}

}  // namespace

void enter(const Input& input) {
  constexpr const char* kNames[] = {"train-images-idx3-ubyte",
                                    "train-labels-idx1-ubyte",
                                    "train-images-idx3-ubyte.gz",
                                    "train-labels-idx1-ubyte.gz",
                                    "data_batch_1.bin",
                                    "train.bin",
                                    "labels.txt"};
  for (const char* name : kNames) input.has(name) ? static_cast<void>(write(name, input[name])) : remove(name);
  for (const char* name : {"train-images-idx3-ubyte", "train-images-idx3-ubyte.gz"})
    if (input.has(name)) attempt([&] { use(data::read_idx(folder() / name, 10)); });
  for (const char* name : {"data_batch_1.bin", "train.bin"})
    if (input.has(name)) attempt([&] { use(data::read_cifar(folder() / name)); });
  attempt([&] {
    const data::LabelledImages set(folder());
    for (std::int64_t i = 0; i < std::min<std::int64_t>(set.size(), 4); ++i) {
      must(static_cast<std::size_t>(set.label(i)) < set.classes().size(), "labels are classes");
      set.read(i);
    }
  });
}

}  // namespace attend::fuzz
