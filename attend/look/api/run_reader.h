// A training run as its folder tells it, while it goes on or later: log.jsonl (curves) and look.jsonl (fixed inputs
// and where the model looks in them). Files are read on from where the last question left them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "attend/base/json.h"

namespace attend::look {

class RunReader {
 public:
  explicit RunReader(std::filesystem::path folder);

  // {"log": [..], "look": [..], "logs": n, "looks": n, "steps": all there will be}: the lines from these on. Of a run
  // that ends by the clock, "minutes" are its time, and "steps" what it comes to at the pace so far. "label_smoothing"
  // is in it where the recipe has some, and "ended" after end().
  struct From {
    std::size_t log = 0, look = 0;
  };
  Json lines(const From& from);
  // Its folder's.
  std::string name() const;
  // From now on answers say that the run has ended.
  void end() { ended_ = true; }

 private:
  // The whole lines of a file that grows. A run that went back (resumed, or started anew) is read from the beginning.
  struct Lines {
    std::filesystem::path path;
    std::uintmax_t read = 0;  // bytes
    std::vector<std::string> all;
    void update();
  };

  void add_length(Json& answer) const;

  std::filesystem::path folder_;
  std::mutex mutex_;
  Lines log_, look_;
  std::atomic<bool> ended_ = false;
};

}  // namespace attend::look
