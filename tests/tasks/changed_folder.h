// A copy of a model's folder with something wrong in it: settings of config.json, integers of expected.safetensors.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cstring>
#include <filesystem>
#include <string>

#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/checkpoint/safetensors.h"

namespace attend::test {

// Removed with everything in it at the end.
class ChangedFolder {
 public:
  explicit ChangedFolder(const std::filesystem::path& from)
      : path_(std::filesystem::temp_directory_path() /
              ("attend-changed-" + std::to_string(getpid()) + "-" + std::to_string(count_++))) {
    std::filesystem::create_directories(path_);
    for (const auto& entry : std::filesystem::directory_iterator(from))
      std::filesystem::copy_file(entry.path(), path_ / entry.path().filename());
  }
  ~ChangedFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ChangedFolder(const ChangedFolder&) = delete;
  ChangedFolder& operator=(const ChangedFolder&) = delete;

  std::string path() const { return path_.string(); }

  void set(const char* key, Json value, const char* file = "config.json") const {
    Json json = read_json(path_ / file);
    json[key] = std::move(value);
    write_file(path_ / file, json.dump(1));
  }

  // The first number of an integer tensor.
  void set_first(const char* tensor, std::int64_t value) const {
    const std::filesystem::path file = path_ / "expected.safetensors";
    std::string bytes = read_file(file);
    std::size_t at = 0, width = 0;
    {
      const checkpoint::Safetensors opened =
          checkpoint::Safetensors::view(std::as_bytes(std::span(bytes)), file.string());
      const checkpoint::StoredTensor& stored = opened[tensor];
      at = static_cast<std::size_t>(stored.bytes.data() - std::as_bytes(std::span(bytes)).data());
      width = bytes_of(stored.type);
    }
    static_assert(std::endian::native == std::endian::little);
    std::memcpy(bytes.data() + at, &value, width);
    write_file(file, bytes);
  }

 private:
  static inline int count_ = 0;
  std::filesystem::path path_;
};

}  // namespace attend::test
