// A file without a name, for data that does not fit into memory: it is gone when it is closed, however the process
// ends.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "attend/base/files.h"

namespace attend {

class ScratchFile {
 public:
  explicit ScratchFile(const std::filesystem::path& folder);

  void write(std::string_view data);
  std::string read();  // all that was written

 private:
  void flush();

  std::filesystem::path path_;
  Descriptor file_;
  std::string buffer_;
  std::size_t size_ = 0;
};

}  // namespace attend
