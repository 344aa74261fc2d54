// Images with sentences about them. What a path is decides how it is read:
//   .json   COCO's captions (those of attend make-data scenes, too): {"images": [{"id", "file_name"}], "annotations":
//           [{"image_id", "caption"}]}
//   else    Flickr's token file: a line a caption, "NAME.jpg#0<tab>A dog runs ."; without "#0" or with a comma for the
//   tab
//           as well
// Where the images are may be said; else they are looked for beside the file: there, in the folder of the file's part
// ("captions_train.json": train, here and one above), in images*.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace attend::data {

struct CaptionedImagesOptions {
  std::filesystem::path images = {};  // the folder they are in; empty: looked for
  std::filesystem::path names = {};   // a file with a name a line: only these, in its order
};

struct CaptionedImages {
  std::filesystem::path root = {};
  std::vector<std::string> files = {};                  // from the root
  std::vector<std::vector<std::string>> captions = {};  // of each, at least one
  std::string left_out = {};                            // "3 left out: .."; empty when there are none

  std::int64_t size() const { return static_cast<std::int64_t>(files.size()); }
};

// Throws Error that names the file and what in it is wrong. Images without a caption or a file are left out.
CaptionedImages read_captioned_images(const std::filesystem::path& path, const CaptionedImagesOptions& options = {});

}  // namespace attend::data
