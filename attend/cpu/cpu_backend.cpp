// The CPU backend itself: memory, copies, and the working memory of its kernels.
#include "attend/cpu/cpu_backend.h"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "attend/base/memory.h"
#include "attend/cpu/pages.h"
#include "attend/cpu/parallel.h"
#include "attend/cpu/rows/kernels.h"

namespace attend {

CpuBackend::CpuBackend(const CpuOptions& options)
    : pool_(options.threads),
      precision_(options.precision),
      batch_invariant_(options.batch_invariant),
      exact_prompts_(options.exact_prompts),
      rows_(cpu::row_kernels()) {}

CpuBackend::~CpuBackend() { std::free(scratch_); }

void* CpuBackend::allocate(std::size_t bytes) {
  if (interrupt_) interrupt_();
  void* data = cpu::allocate_pages(bytes);
  if (data == nullptr) throw OutOfMemory(bytes);
  return data;
}

void CpuBackend::free(void* data, std::size_t) {
  if (recording_)
    recording_->adopt(data);  // what is kept may use it
  else
    std::free(data);
}

void CpuBackend::to_device(void* to, const void* from, std::size_t bytes) {
  stop_recording();
  if (bytes > 0) std::memcpy(to, from, bytes);
}

void CpuBackend::to_host(void* to, const void* from, std::size_t bytes) { to_device(to, from, bytes); }

void CpuBackend::to_device_async(void* to, const void* from, std::size_t bytes) { to_device(to, from, bytes); }

namespace {

class HostReadback final : public AsyncReadback {
 public:
  HostReadback(CpuBackend& backend, std::size_t bytes) : backend_(backend), bytes_(bytes) {}
  void send_for(const void* memory) override { backend_.to_host(bytes_.data(), memory, bytes_.size()); }
  const void* wait() override { return bytes_.data(); }

 private:
  CpuBackend& backend_;
  std::vector<std::byte> bytes_;
};

}  // namespace

std::unique_ptr<AsyncReadback> CpuBackend::readback(std::size_t bytes) {
  return std::make_unique<HostReadback>(*this, bytes);
}

// Kernels that a decoding step needs can be kept; with any other among them, the step runs as it comes.
std::unique_ptr<Graph> CpuBackend::capture(const std::function<void()>& body) {
  check(recording_ == nullptr, "cpu: capture inside a capture");
  auto recording = std::make_unique<cpu::Recording>(pool_);
  recording_ = recording.get();
  try {
    body();
  } catch (...) {
    recording_ = nullptr;
    throw;
  }
  return std::exchange(recording_, nullptr) != nullptr ? std::move(recording) : nullptr;
}

void CpuBackend::stop_recording() {
  if (cpu::Recording* recording = std::exchange(recording_, nullptr)) recording->launch();
}

float* CpuBackend::scratch(std::int64_t floats) {
  stop_recording();
  if (floats > scratch_floats_) {
    std::free(scratch_);
    scratch_ = nullptr, scratch_floats_ = 0;
    scratch_ = static_cast<float*>(allocate(static_cast<std::size_t>(floats) * sizeof(float)));
    scratch_floats_ = floats;
  }
  return scratch_;
}

void CpuBackend::finish_columns(const float* partial, std::int64_t chunks, std::int64_t stride, const Grad& sums) {
  if (!sums) return;
  const std::int64_t width = sums.into.size();
  cpu::for_rows(pool(), width, chunks, [&](std::int64_t begin, std::int64_t end) {
    cpu::Out out{cpu::at(sums.into.raw(), begin, sums.into.dtype()), sums.accumulate};
    rows_.sum_chunks[cpu::kind_of(sums.into)](partial + begin, chunks, stride, out, end - begin);
  });
}

}  // namespace attend
