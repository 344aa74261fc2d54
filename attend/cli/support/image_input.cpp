#include "attend/cli/support/image_input.h"

#include <fmt/core.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <ostream>

#include "attend/base/interrupt.h"
#include "attend/base/terminal.h"
#include "attend/base/thread_pool.h"
#include "attend/cli/support/flags.h"
#include "attend/image/decode.h"

namespace attend::cli {

namespace {

namespace fs = std::filesystem;

bool is_image_name(const fs::path& path) {
  std::string ending = path.extension().string();
  for (char& c : ending) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
  return ending == ".jpg" || ending == ".jpeg" || ending == ".png" || ending == ".webp";
}

// An image, or why there is none.
struct Read {
  std::optional<image::Image> image;
  std::string error;
};

// Images that are decoded at the same time, by as many threads as there are, share so much memory; one alone may have
// more.
class DecodingMemory {
 public:
  class Share {
   public:
    Share(DecodingMemory& memory, std::int64_t bytes) : memory_(memory), bytes_(bytes) {
      std::unique_lock lock(memory_.mutex_);
      memory_.given_back_.wait(lock, [&] { return memory_.used_ == 0 || memory_.used_ + bytes_ <= kBytes; });
      memory_.used_ += bytes_;
    }
    ~Share() {
      {
        const std::lock_guard lock(memory_.mutex_);
        memory_.used_ -= bytes_;
      }
      memory_.given_back_.notify_all();
    }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

   private:
    DecodingMemory& memory_;
    std::int64_t bytes_;
  };

 private:
  static constexpr std::int64_t kBytes = std::int64_t{1} << 30;
  std::mutex mutex_;
  std::condition_variable given_back_;
  std::int64_t used_ = 0;
};

Read read_prepared(const std::string& file, const ImageInput& input, DecodingMemory& memory) {
  try {
    const auto rows = image::open_rows(file, {.most_pixels = input.max_pixels});
    const DecodingMemory::Share share(memory, rows->header().memory);
    try {
      return {.image = input.prepare(*rows), .error = {}};
    } catch (const Error& error) {
      const std::string_view what = error.what();
      fail("{}{}", what.starts_with(file) ? "" : file + ": ", what);
    }
  } catch (const Error& error) {
    return {.image = {}, .error = error.what()};
  }
}

}  // namespace

void add_max_pixels_flag(Flags& flags, std::int64_t& max_pixels) {
  flags.add("--max-pixels", max_pixels, "Maximum number of pixels in an image. Larger images are rejected.")
      .between(1, static_cast<double>(std::int64_t{1} << 40));
}

std::vector<std::string> image_files(const std::vector<std::string>& arguments, std::string_view command) {
  std::vector<std::string> files;
  for (const std::string& argument : arguments) {
    if (!fs::is_directory(argument)) {
      files.push_back(argument);
      continue;
    }
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(argument))
      if (entry.is_regular_file() && is_image_name(entry.path())) found.push_back(entry.path().string());
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

std::vector<OutputFiles::Named> figures_of(const std::string& flag, const std::string& path, std::size_t images) {
  std::vector<OutputFiles::Named> figures;
  for (std::size_t i = 1; i <= images && !path.empty(); ++i)
    figures.push_back({flag, numbered(path, static_cast<std::int64_t>(i))});
  return figures;
}

void check_results(const std::string& path, std::string_view command) {
  check(!is_image_name(path), "{}: results would be written to {}, which is called as an image is; name a .json",
        command, path);
}

void for_each_image_batch(const ImageInput& input, const Streams& streams,
                          const std::function<void(const ImageBatch&)>& run) {
  check(streams.world->size() == 1, "{}: images are for one process; start it without mpirun", input.command);
  check(input.batch >= 1, "--batch must be at least 1, not {}", input.batch);
  const std::vector<std::string> files = image_files(input.arguments, input.command);
  check(!files.empty(), "{}: no image was given; name files, or folders of them", input.command);
  const InterruptGuard interrupt;  // figures that wait to take their place are removed
  ThreadPool pool;
  DecodingMemory memory;
  std::size_t broken = 0;
  for (std::size_t begin = 0; begin < files.size(); begin += static_cast<std::size_t>(input.batch)) {
    const std::size_t count = std::min(files.size() - begin, static_cast<std::size_t>(input.batch));
    std::vector<Read> read(count);
    const auto body = [&](std::int64_t i) {
      read[static_cast<std::size_t>(i)] = read_prepared(files[begin + static_cast<std::size_t>(i)], input, memory);
    };
    pool.run({ThreadPool::each(static_cast<std::int64_t>(count), body)});
    ImageBatch batch;
    for (std::size_t i = 0; i < count; ++i) {
      if (!read[i].image) {
        streams.err << "attend: " << printable(read[i].error) << '\n';
        ++broken;
        continue;
      }
      batch.files.push_back(files[begin + i]);
      batch.images.push_back(std::move(*read[i].image));
    }
    if (!batch.files.empty()) run(batch);
    streams.out.flush();
    if (interrupt.requested()) throw Interrupted{interrupt.signal()};
  }
  if (broken == 0) return;
  const std::string message = fmt::format("{}: {} of {} images could not be read", input.command, broken, files.size());
  if (broken < files.size()) throw UnreadImages(message);
  throw Error(message);
}

}  // namespace attend::cli
