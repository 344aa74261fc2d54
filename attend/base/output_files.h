// The files that a command writes. Every command names all of them, and all files it reads, before it computes
// anything. An output that is also an input, or two outputs that are one file, are refused. Each file is written beside
// its place under a temporary name, and takes its place when the whole command has succeeded: after an error every old
// file is as it was.
//
//   OutputFiles outputs({.outputs = {{"--npy", options.npy}}, .inputs = options.files});
//   outputs.write(options.npy, content);
//   outputs.commit();
//
// Devices and pipes (/dev/null, /dev/stdout, a named pipe) have no place to take: they are written to at once.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attend/base/files.h"

namespace attend {

class OutputFiles {
 public:
  struct Named {
    std::string flag;            // what the user called it by, for messages: "--npy"
    std::filesystem::path path;  // empty: not asked for
  };
  struct Options {
    std::vector<Named> outputs = {};
    std::vector<std::filesystem::path> inputs = {};
    bool reads_standard_input = false, writes_standard_output = false;
  };
  // Throws Error when an output cannot be written, or must not be.
  explicit OutputFiles(const Options& options);
  ~OutputFiles();  // what has not taken its place is removed, with the folders that were made for it
  OutputFiles(const OutputFiles&) = delete;
  OutputFiles& operator=(const OutputFiles&) = delete;

  // One more, of which nobody could know at the beginning: the figure of a second line.
  void add(const Named& output);

  void write(const std::filesystem::path& path, std::string_view content);
  void write(const std::filesystem::path& path, const FileProducer& produce);
  // In pieces, until commit().
  FileWriter writer(const std::filesystem::path& path);
  void commit();

 private:
  using Inode = std::pair<dev_t, ino_t>;
  class File;

  void check_folder(const Named& output, const std::filesystem::path& place) const;

  std::map<Inode, std::string> read_;                    // inputs, by name
  std::map<Inode, std::string> written_;                 // outputs that are there already, by flag
  std::map<std::filesystem::path, std::string> places_;  // all outputs, with links resolved
  std::vector<std::unique_ptr<File>> files_;             // in the order they were begun
  std::set<std::filesystem::path> begun_;
  std::vector<std::filesystem::path> made_;  // folders, outermost first
};

// Where an output goes.
struct OutputPlace {
  std::filesystem::path path;  // links resolved
  bool there = false;          // a file that will be replaced
  bool special = false;        // a device or a pipe, which is written to in place
};
// Throws Error for a folder, a file that must not be written, a link that leads to itself.
OutputPlace output_place(const std::filesystem::path& path);

}  // namespace attend
