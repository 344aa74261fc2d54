// The training that a visitor of the page has started (minute_tasks.h), one at a time, as JSON (docs/look-api.md).
// Where it runs is decided by who derives from it: a thread of the program, or a worker of the browser.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "attend/base/json.h"
#include "attend/look/api/minute_tasks.h"
#include "attend/look/api/model_entry.h"
#include "attend/look/api/run_reader.h"

namespace attend::look {

class LiveTraining {
 public:
  explicit LiveTraining(std::filesystem::path folder) : folder_(std::move(folder)) {}
  virtual ~LiveTraining() = default;
  LiveTraining(const LiveTraining&) = delete;
  LiveTraining& operator=(const LiveTraining&) = delete;

  static Json tasks();  // what can be started: [{"name", "title", "reads", "writes"}]
  // Any thread. {"task": "dates"} ends the one before and starts that; {"task": ""} only ends it.
  Json start(const Json& request);
  // The lines of its run from {"log", "look"} on, and how it stands: "number", "task", "state" (none, running, stopped,
  // failed or ended), "error", and when it has ended "test", and "model": the name to open it under.
  Json lines(const Json& request);
  // The models that were trained to their end.
  std::vector<ModelEntry> trained() const;

 protected:
  virtual void begin(const MinuteTask& task, const std::filesystem::path& folder) = 0;
  virtual void halt() = 0;  // nothing runs when it returns
  // From the one that runs, in whichever thread: it was trained to its end or not, or an error ended it.
  void end(bool trained, const std::string& error);
  const std::filesystem::path& folder() const { return folder_; }
  std::string model_name() const;  // of the newest training, in begin()

 private:
  const std::filesystem::path folder_;
  std::mutex one_;            // start() is called for one after the other
  mutable std::mutex mutex_;  // of what follows
  std::int64_t number_ = 0;   // of trainings so far
  std::string task_ = {}, state_ = "none", error_ = {};
  std::shared_ptr<RunReader> run_;
  std::vector<ModelEntry> trained_;
};

}  // namespace attend::look
