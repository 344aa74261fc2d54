// A step that is kept to be run again (Backend::capture): what its kernels do, one after another, as one parallel
// region. The code between them is not run again, and nobody comes back to the caller in between.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "attend/base/thread_pool.h"
#include "attend/tensor/backend.h"

namespace attend::cpu {

class Recording final : public Graph {
 public:
  explicit Recording(ThreadPool& pool) : pool_(pool) {}

  // work.stages() comes next. The work refers to nothing of the caller's but tensors' memory, and to what is kept here.
  template <class Work>
  void add(Work work) {
    auto kept = std::make_shared<Work>(std::move(work));
    for (const ThreadPool::Stage& stage : kept->stages()) stages_.push_back(stage);
    kept_.push_back(std::move(kept));
  }
  // Memory that such work may use while it runs.
  std::byte* memory(std::size_t bytes) {
    auto block = std::make_shared<std::vector<Line>>(bytes / sizeof(Line) + 1);
    kept_.push_back(block);
    return block->front().bytes;
  }

  // Memory from std::malloc that was given back, and that such work may still use.
  void adopt(void* memory) {
    kept_.emplace_back(memory, [](void* p) { std::free(p); });
  }

  void launch() override {
    if (!program_) program_.emplace(pool_, std::move(stages_));
    program_->run();
  }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  ThreadPool& pool_;
  std::vector<std::shared_ptr<void>> kept_;
  std::vector<ThreadPool::Stage> stages_;  // until they are the program's
  std::optional<ThreadPool::Program> program_;
};

}  // namespace attend::cpu
