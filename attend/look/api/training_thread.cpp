#include "attend/look/api/training_thread.h"

#include <fmt/core.h>

#include <exception>
#include <random>
#include <system_error>

#include "attend/backends.h"
#include "attend/base/error.h"
#include "attend/base/thread.h"

namespace attend::look {

namespace {

// Nobody else's: it is made here, and only its owner may read it.
std::filesystem::path own_folder() {
  std::random_device random;
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("attend-look-{:08x}{:08x}", random(), random());
  std::error_code error;
  check(std::filesystem::create_directory(folder, error), "{}: cannot be made: {}", folder.string(), error.message());
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  return folder;
}

}  // namespace

TrainingThread::TrainingThread() : LiveTraining(own_folder()) {}

TrainingThread::~TrainingThread() {
  halt();
  std::error_code ignored;
  std::filesystem::remove_all(folder(), ignored);
}

void TrainingThread::begin(const MinuteTask& task, const std::filesystem::path& folder) {
  stopped_ = false;
  thread_ = start_thread("attend look", [this, &task, folder] {
    try {
      const auto backend = open_backend("cpu", {.batch_invariant = false});
      end(train_minute_task(task, *backend, {.folder = folder, .stopped = [this] { return stopped_.load(); }}), "");
    } catch (const std::exception& error) {
      end(false, error.what());
    }
  });
}

void TrainingThread::halt() {
  stopped_ = true;
  if (thread_.joinable()) thread_.join();
}

}  // namespace attend::look
