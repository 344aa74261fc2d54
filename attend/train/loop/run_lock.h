// One process per run: a lock on the folder that goes away with its holder, however that ends.
#pragma once

#include <filesystem>

#include "attend/base/files.h"

namespace attend::train {

class RunLock {
 public:
  // Throws Error saying who holds it when another process does. On a file system without locks the run goes on
  // without (flock; over NFS that is the server's byte-range lock, where it runs its lock service).
  explicit RunLock(const std::filesystem::path& folder);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  static constexpr const char* kName = "run.lock";

 private:
  std::filesystem::path path_;
  Descriptor file_;
};

}  // namespace attend::train
