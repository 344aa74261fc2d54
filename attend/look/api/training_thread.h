// A training of the page as a thread of the program, in a folder that goes with it.
#pragma once

#include <atomic>
#include <thread>

#include "attend/look/api/live_training.h"

namespace attend::look {

class TrainingThread : public LiveTraining {
 public:
  TrainingThread();
  ~TrainingThread() override;

 private:
  void begin(const MinuteTask& task, const std::filesystem::path& folder) override;
  void halt() override;

  std::atomic<bool> stopped_ = false;
  std::thread thread_;
};

}  // namespace attend::look
