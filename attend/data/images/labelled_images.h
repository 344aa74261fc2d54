// A list of images with labels. What a path is decides how it is read:
//   a folder per class   animals/cat/1.jpg, animals/dog/old/7.png; classes in the order of their names. A folder that
//   has
//                        nothing but train and test (or valid, val) in it stands for one of them
//   a table              .csv or .tsv with a path and a label a line, paths from where the file lies; a header may name
//                        the columns ("path", "label")
//   MNIST, CIFAR         the files of image_records.h, or the folder they lie in
// Classes of the last are numbers, or the lines of a file beside: labels.txt, batches.meta.txt, fine_label_names.txt.
//
// Files are looked at when they are used, not before: a set of a million takes seconds to list and hours to decode.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "attend/data/images/image_records.h"
#include "attend/image/image.h"

namespace attend::data {

// By the end of its name: .jpg, .jpeg, .png or .webp, in any case.
bool is_image_name(const std::filesystem::path& path);

struct LabelledImagesOptions {
  // The classes of the set that is learned from, for one to validate with: another class is an Error. Empty: its own.
  std::vector<std::string> classes = {};
  // Of a folder that holds both, the images to test with (test, t10k-images.., test_batch.bin), not those to learn
  // from.
  bool unseen = false;
  // A folder without an image is a class all the same, as with `classes`; otherwise it is an Error.
  bool empty_classes = false;
};

class LabelledImages {
 public:
  explicit LabelledImages(const std::filesystem::path& path, const LabelledImagesOptions& options = {});
  // Images whose labels are their own numbers: whoever has more to say of them than a class looks it up by those.
  LabelledImages(std::filesystem::path root, std::vector<std::string> files);

  std::int64_t size() const { return static_cast<std::int64_t>(labels_.size()); }
  std::int32_t label(std::int64_t i) const { return labels_[static_cast<std::size_t>(i)]; }
  const std::vector<std::string>& classes() const { return classes_; }
  std::string name(std::int64_t i) const;  // the file, or the place in it
  // Whether an image's pixels are at hand: reading one takes no time that is worth keeping it.
  bool decoded() const { return !records_.empty(); }
  // RGB. Throws Error that names the file. Several threads may read.
  image::Image read(std::int64_t i) const;
  // "3 rows left out: .."; empty when there are none.
  const std::string& left_out() const { return left_out_; }

 private:
  void list_folder(const std::filesystem::path& folder, const LabelledImagesOptions& options);
  void list_classes(const std::filesystem::path& folder, bool may_lack);
  void read_table(const std::filesystem::path& path);
  void read_records(const std::vector<std::filesystem::path>& files);
  void adopt(const std::vector<std::string>& classes, const std::string& path);
  // The records that image i lies in, and its number there.
  std::pair<const ImageRecords&, std::int64_t> record_of(std::int64_t i) const;

  std::vector<std::string> classes_;
  std::vector<std::int32_t> labels_;
  std::filesystem::path root_;
  std::vector<std::string> files_;     // from the root, one an image
  std::vector<ImageRecords> records_;  // or these, one behind the other
  std::string left_out_;
};

// Numbers of images, each list in order.
struct ImageSplit {
  std::vector<std::int64_t> train, valid;
};
// Holds out a share of so many images, at least one unless it is 0: always the same of the same seed.
ImageSplit split_images(std::int64_t count, double share, std::uint64_t seed);

}  // namespace attend::data
