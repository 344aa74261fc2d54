// The CPU as a Backend: every kernel of attend/tensor/backend.h in a file of its own beside this one. Loops over rows
// live in attend/cpu/rows/, compiled once for each instruction set and picked when the backend is made.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "attend/base/thread_pool.h"
#include "attend/cpu/gemm.h"
#include "attend/cpu/recording.h"
#include "attend/tensor/backend.h"

namespace attend {

namespace cpu {
struct RowKernels;
}

struct CpuOptions {
  int threads = 0;  // 0: every core this process may use
  cpu::Precision precision = cpu::Precision::exact;
  bool batch_invariant = false;  // as BackendOptions say
  bool exact_prompts = false;
};

// Used by one thread at a time, like its pool.
class CpuBackend : public Backend {
 public:
  explicit CpuBackend(const CpuOptions& options = {});
  ~CpuBackend() override;
  CpuBackend(const CpuBackend&) = delete;
  CpuBackend& operator=(const CpuBackend&) = delete;

  // For work that is not kept: what is being captured cannot be run again without it.
  ThreadPool& pool() {
    stop_recording();
    return pool_;
  }
  cpu::Precision precision() const { return precision_; }

  std::string name() const override { return "cpu"; }
  bool on_host() const override { return true; }
  bool exact_prompts() const override { return exact_prompts_; }

  void* allocate(std::size_t bytes) override;
  void set_interrupt(const std::function<void()>& check) override { interrupt_ = check; }
  void free(void* data, std::size_t bytes) override;
  void to_device(void* to, const void* from, std::size_t bytes) override;
  void to_host(void* to, const void* from, std::size_t bytes) override;
  void to_device_async(void* to, const void* from, std::size_t bytes) override;
  std::unique_ptr<AsyncReadback> readback(std::size_t bytes) override;
  void synchronize() override { stop_recording(); }
  std::unique_ptr<Graph> capture(const std::function<void()>& body) override;

#define ATTEND_KERNEL
#define ATTEND_DEFINED override
#include "attend/tensor/kernels.inc"

  std::shared_ptr<const PackedWeight> pack(const WeightToPack& weight) override;

 private:
  // Working memory that a kernel may use until it returns: kept from call to call, so it is paid for once.
  float* scratch(std::int64_t floats);
  // Adds `chunks` partial rows of `width` sums in order and puts them where the gradient goes.
  void finish_columns(const float* partial, std::int64_t chunks, std::int64_t stride, const Grad& sums);

  // Runs work.stages(), or keeps the work: see cpu::Recording.
  template <class Work>
  void run(Work work) {
    recording_ ? recording_->add(std::move(work)) : pool_.run(work.stages());
  }
  // What was kept is run now, and the rest of the step as it comes.
  void stop_recording();

  ThreadPool pool_;
  cpu::Recording* recording_ = nullptr;
  cpu::Precision precision_;
  bool batch_invariant_, exact_prompts_;
  const cpu::RowKernels& rows_;
  std::function<void()> interrupt_;
  float* scratch_ = nullptr;
  std::int64_t scratch_floats_ = 0;
};

}  // namespace attend
