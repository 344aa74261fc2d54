#include "attend/cli/picture_input.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <ostream>

#include "attend/base/interrupt.h"
#include "attend/base/terminal.h"
#include "attend/base/thread_pool.h"
#include "attend/image/decode.h"

namespace attend {

namespace {

namespace fs = std::filesystem;

bool is_picture_name(const fs::path& path) {
  std::string ending = path.extension().string();
  for (char& c : ending) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
  return ending == ".jpg" || ending == ".jpeg" || ending == ".png" || ending == ".webp";
}

// A picture, or why there is none.
struct Read {
  std::optional<image::Image> picture;
  std::string error;
};

Read read_prepared(const std::string& file, const PictureInput& input) {
  try {
    const image::Image picture = image::read_image(file);
    try {
      return {.picture = input.prepare(picture), .error = {}};
    } catch (const Error& error) {
      fail("{}: {}", file, error.what());
    }
  } catch (const Error& error) {
    return {.picture = {}, .error = error.what()};
  }
}

}  // namespace

std::vector<std::string> picture_files(const std::vector<std::string>& arguments, std::string_view command) {
  std::vector<std::string> files;
  for (const std::string& argument : arguments) {
    if (!fs::is_directory(argument)) {
      files.push_back(argument);
      continue;
    }
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(argument))
      if (entry.is_regular_file() && is_picture_name(entry.path())) found.push_back(entry.path().string());
    check(!found.empty(), "{}: the folder {} holds no .jpg, .jpeg, .png or .webp", command, argument);
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

fs::path numbered(const fs::path& path, std::int64_t number) {
  if (number == 1) return path;
  return path.parent_path() / fmt::format("{}-{}{}", path.stem().string(), number, path.extension().string());
}

std::vector<OutputFiles::Named> figures_of(const std::string& flag, const std::string& path, std::size_t pictures) {
  std::vector<OutputFiles::Named> figures;
  for (std::size_t i = 1; i <= pictures && !path.empty(); ++i)
    figures.push_back({flag, numbered(path, static_cast<std::int64_t>(i))});
  return figures;
}

void check_results(const std::string& path, std::string_view command) {
  check(!is_picture_name(path), "{}: results would be written to {}, which is called as a picture is; name a .json",
        command, path);
}

void for_each_picture_batch(const PictureInput& input, const Streams& streams,
                            const std::function<void(const PictureBatch&)>& run) {
  check(streams.world->size() == 1, "{}: pictures are for one process; start it without mpirun", input.command);
  check(input.batch >= 1, "--batch must be at least 1, not {}", input.batch);
  const std::vector<std::string> files = picture_files(input.arguments, input.command);
  check(!files.empty(), "{}: no picture was given; name files, or folders of them", input.command);
  const InterruptGuard interrupt;  // figures that wait to take their place are removed
  ThreadPool pool;
  std::size_t broken = 0;
  for (std::size_t begin = 0; begin < files.size(); begin += static_cast<std::size_t>(input.batch)) {
    const std::size_t count = std::min(files.size() - begin, static_cast<std::size_t>(input.batch));
    std::vector<Read> read(count);
    const auto body = [&](std::int64_t i) {
      read[static_cast<std::size_t>(i)] = read_prepared(files[begin + static_cast<std::size_t>(i)], input);
    };
    pool.run({ThreadPool::each(static_cast<std::int64_t>(count), body)});
    PictureBatch batch;
    for (std::size_t i = 0; i < count; ++i) {
      if (!read[i].picture) {
        streams.err << "attend: " << printable(read[i].error) << '\n';
        ++broken;
        continue;
      }
      batch.files.push_back(files[begin + i]);
      batch.pictures.push_back(std::move(*read[i].picture));
    }
    if (!batch.files.empty()) run(batch);
    streams.out.flush();
    if (interrupt.requested()) throw Interrupted{interrupt.signal()};
  }
  if (broken == 0) return;
  const std::string message =
      fmt::format("{}: {} of {} pictures could not be read", input.command, broken, files.size());
  if (broken < files.size()) throw UnreadPictures(message);
  throw Error(message);
}

}  // namespace attend
