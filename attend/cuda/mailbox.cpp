#include "attend/cuda/mailbox.h"

#include <algorithm>
#include <bit>

#include "attend/cuda/cuda_backend.h"
#include "attend/cuda/cuda_check.h"

namespace attend {

// One that is open.
class CudaReadback final : public AsyncReadback {
 public:
  CudaReadback(const CudaBackend& backend, Mailboxes& home, const Mailboxes::Box& box, std::size_t bytes)
      : backend_(backend), home_(home), box_(box), bytes_(bytes) {}
  // What is still on its way must not arrive in the hands of the next one.
  ~CudaReadback() override {
    cudaEventSynchronize(box_.arrived);
    home_.put_back(box_);
  }
  void send_for(const void* memory) override {
    cuda_check(cudaMemcpyAsync(box_.data, memory, bytes_, cudaMemcpyDeviceToHost, backend_.stream()),
               "copy to the host");
    cuda_check(cudaEventRecord(box_.arrived, backend_.stream()), "cudaEventRecord");
  }
  const void* wait() override {
    cuda_check(cudaEventSynchronize(box_.arrived), "copy to the host");
    return box_.data;
  }

 private:
  const CudaBackend& backend_;
  Mailboxes& home_;
  Mailboxes::Box box_;
  std::size_t bytes_;
};

std::unique_ptr<AsyncReadback> Mailboxes::open(const CudaBackend& backend, std::size_t bytes) {
  constexpr std::size_t kSmallest = 4096;
  const std::size_t size = std::bit_ceil(std::max(bytes, kSmallest));
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find(closed_, size, &Box::bytes);
  Box box;
  if (found != closed_.end()) {
    box = *found;
    closed_.erase(found);
  } else {
    backend.stream();  // points this thread at the device
    box.bytes = size;
    cuda_check(cudaMallocHost(&box.data, size), "cudaMallocHost");
    cuda_check(cudaEventCreateWithFlags(&box.arrived, cudaEventDisableTiming), "cudaEventCreate");
  }
  return std::make_unique<CudaReadback>(backend, *this, box, bytes);
}

void Mailboxes::put_back(const Box& box) {
  const std::scoped_lock lock(mutex_);
  closed_.push_back(box);
}

void Mailboxes::close() {
  for (const Box& box : closed_) {
    cudaEventDestroy(box.arrived);
    cudaFreeHost(box.data);
  }
  closed_.clear();
}

}  // namespace attend
