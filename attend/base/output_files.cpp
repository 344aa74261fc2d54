#include "attend/base/output_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <system_error>

#include "attend/base/error.h"
#include "attend/base/os.h"

namespace attend {

namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // as many as Linux follows

[[noreturn]] void fail_to_write(const fs::path& path, int code) {
  fail("cannot write '{}': {}", path.string(), std::generic_category().message(code));
}

// A link whose target is not there yet is followed too, so that the target is made and the link stays.
fs::path without_links(fs::path path) {
  const fs::path given = path;
  std::error_code error;
  for (int links = 0; fs::is_symlink(fs::symlink_status(path, error)); ++links) {
    if (links == kMostLinks) fail_to_write(given, ELOOP);
    const fs::path target = fs::read_symlink(path, error);
    if (error) fail_to_write(given, error.value());
    path = path.parent_path() / target;  // an absolute target replaces the folder
  }
  return path;
}

// One for all ways to write a path, and the same before and after its folder is made: of a relative path whose first
// folder is missing weakly_canonical() makes no absolute one.
fs::path key_of(const fs::path& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  if (error) return path;
  const fs::path folder = fs::weakly_canonical(absolute.parent_path(), error);
  return error ? path : folder / path.filename();
}

// The device or file behind standard input or output, where it is a plain file.
std::optional<struct stat> plain_file_at(int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return {};
  return status;
}

bool is_standard_output(const fs::path& path) {
  return path == "/dev/stdout" || path == "/dev/fd/1" || path == "/proc/self/fd/1";
}

}  // namespace

OutputPlace output_place(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) {
    check(!S_ISDIR(status.st_mode), "cannot write '{}': it is a folder", path.string());
    if (!S_ISREG(status.st_mode) || is_standard_output(path)) return {.path = path, .special = true};
    // A rename needs no permission to write to the file that it replaces: ask for it here.
    if (::access(path.c_str(), W_OK) != 0) fail_to_write(path, errno);
    return {.path = without_links(path), .there = true};
  }
  if (const int code = errno; code != ENOENT) fail_to_write(path, code);
  check(path.has_filename(), "cannot write '{}': it is no name of a file", path.string());
  return {.path = without_links(path)};
}

// A file beside its place, or a device that is written to in place.
class OutputFiles::File {
 public:
  explicit File(const OutputPlace& place) : path_(place.path), device_(-1) {
    if (!place.special) {
      replacement_.emplace(place.path);
      return;
    }
    device_ = Descriptor(os::open(place.path, O_WRONLY));
    if (device_.get() < 0) fail_to_write(place.path, errno);
  }

  void write(std::string_view data) {
    if (replacement_) return replacement_->write(data);
    while (!data.empty()) {
      const ssize_t written = os::write(device_.get(), data.data(), data.size(), path_);
      if (written < 0) fail_to_write(path_, errno);
      data.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  void finish() {
    if (replacement_ && !finished_) replacement_->finish();
    finished_ = true;
  }
  void commit() {
    if (replacement_) replacement_->commit();
  }

 private:
  fs::path path_;
  std::optional<FileReplacement> replacement_;
  Descriptor device_;
  bool finished_ = false;
};

OutputFiles::OutputFiles(const Options& options) {
  for (const fs::path& input : options.inputs) {
    struct stat status {};
    if (::stat(input.c_str(), &status) == 0 && S_ISREG(status.st_mode))
      read_.emplace(Inode{status.st_dev, status.st_ino}, "'" + input.string() + "'");
  }
  if (const auto status = plain_file_at(STDIN_FILENO); status && options.reads_standard_input)
    read_.emplace(Inode{status->st_dev, status->st_ino}, "standard input");
  if (const auto status = plain_file_at(STDOUT_FILENO); status && options.writes_standard_output)
    written_.emplace(Inode{status->st_dev, status->st_ino}, "standard output");
  for (const Named& output : options.outputs) add(output);
}

OutputFiles::~OutputFiles() {
  files_.clear();
  for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder) ::rmdir(folder->c_str());  // where it is empty
}

// What is found out now is not found out after hours of computing.
void OutputFiles::check_folder(const Named& output, const fs::path& place) const {
  fs::path folder = place.parent_path().empty() ? fs::path(".") : place.parent_path();
  struct stat status {};
  while (::stat(folder.c_str(), &status) != 0 && errno == ENOENT && folder.has_relative_path())
    folder = folder.parent_path().empty() ? fs::path(".") : folder.parent_path();
  if (::access(folder.c_str(), W_OK | X_OK) != 0) fail_to_write(output.path, errno);
}

void OutputFiles::add(const Named& output) {
  if (output.path.empty()) return;
  const OutputPlace place = output_place(output.path);
  if (place.special) return;
  const auto twice = [&](const std::string& other) {
    fail("{} '{}' is the file of {}, too; give each a name of its own", output.flag, output.path.string(), other);
  };
  if (const auto [other, first] = places_.emplace(key_of(place.path), output.flag); !first) twice(other->second);
  check_folder(output, place.path);
  struct stat status {};
  if (!place.there || ::stat(place.path.c_str(), &status) != 0) return;
  const Inode inode{status.st_dev, status.st_ino};
  if (const auto input = read_.find(inode); input != read_.end())
    fail("{} '{}' is one of the files that are read ({}), and would be lost; give it another name", output.flag,
         output.path.string(), input->second);
  if (const auto [other, first] = written_.emplace(inode, output.flag); !first) twice(other->second);
}

void OutputFiles::write(const fs::path& path, std::string_view content) {
  write(path, [&](const FileWriter& write) { write(content); });
}

void OutputFiles::write(const fs::path& path, const FileProducer& produce) {
  produce(writer(path));
  files_.back()->finish();  // its descriptor is free for the next
}

FileWriter OutputFiles::writer(const fs::path& path) {
  const OutputPlace place = output_place(path);
  if (!place.special) {
    const fs::path key = key_of(place.path);
    check(places_.contains(key), "'{}' was not named as an output", path.string());
    check(begun_.insert(key).second, "'{}' is written twice", path.string());
    const std::vector<fs::path> made = make_folders(place.path.parent_path());
    made_.insert(made_.end(), made.begin(), made.end());
  }
  files_.push_back(std::make_unique<File>(place));
  return [file = files_.back().get()](std::string_view data) { file->write(data); };
}

void OutputFiles::commit() {
  for (const auto& file : files_) file->finish();  // all are on disk before the first takes its place
  for (const auto& file : files_) file->commit();
  files_.clear();
  made_.clear();
}

}  // namespace attend
