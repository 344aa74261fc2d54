// The numbers that images have in COCO's results: those of a file of instances or captions, where one is given, else
// their places on the command line.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "attend/data/images/coco_files.h"

namespace attend::cli {

class CocoImages {
 public:
  // files, in their order, have the numbers 1, 2, ..
  explicit CocoImages(const std::vector<std::string>& files);
  // By their names, of which source holds the numbers; where two images of it have one name, by the folders in front
  // of it, too. Throws Error for a file that it does not know, and for two that are one image. command opens
  // messages.
  struct Source {
    std::string_view command, file;
  };
  CocoImages(const std::vector<std::string>& files, const std::vector<data::CocoName>& names, const Source& source);

  std::int64_t id(const std::string& file) const { return ids_.at(file); }

 private:
  std::map<std::string, std::int64_t> ids_;
};

}  // namespace attend::cli
