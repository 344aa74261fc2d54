// The device itself: its stream, its memory and the copies to and from the host.
#include "attend/cuda/cuda_backend.h"

#include <algorithm>

#include "attend/cuda/cuda_check.h"
#include "attend/cuda/gemm/gemm_planner.h"
#include "attend/cuda/staged_upload.h"
#include "attend/cuda/way_planner.h"

namespace attend {
namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
constexpr std::size_t kKeptShare = 32;  // of the device's memory, what may be kept of what was freed

// The device this thread's CUDA calls go to.
thread_local int current_device = -1;

// While it lives, this thread may allocate memory although a stream is being captured.
class AllowInCapture {
 public:
  AllowInCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~AllowInCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace

CudaBackend::CudaBackend(int device) : device_(device) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) cudaGetLastError();
  check(status == cudaSuccess && count > 0, "cuda:{}: no GPU found ({})", device,
        status == cudaSuccess ? "the driver lists none" : cudaGetErrorString(status));
  check(device >= 0 && device < count, "cuda:{}: this machine has GPUs 0 to {}", device, count - 1);
  cuda_check(cudaSetDevice(device), "cudaSetDevice");
  current_device = device;
  cuda_check(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, device),
             "cudaDeviceGetAttribute");
  cuda_check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  std::size_t available = 0, total = 0;
  cuda_check(cudaMemGetInfo(&available, &total), "cudaMemGetInfo");
  kept_.set_most(total / kKeptShare);
  gemm_ = std::make_unique<GemmPlanner>(*this);
  convolutions_ = std::make_unique<WayPlanner>(*this, "convolution");
}

CudaBackend::~CudaBackend() {
  cudaSetDevice(device_);
  cudaStreamSynchronize(stream_);
  gemm_.reset(), convolutions_.reset(), staged_.reset();
  if (scratch_) cudaFree(scratch_);
  for (void* area : outgrown_) cudaFree(area);
  for (void* block : kept_.give_up()) cudaFree(block);
  mailboxes_.close();
  cudaStreamDestroy(stream_);
}

cudaStream_t CudaBackend::stream() const {
  if (current_device != device_) [[unlikely]] {
    cuda_check(cudaSetDevice(device_), "cudaSetDevice");
    current_device = device_;
  }
  return stream_;
}

std::string CudaBackend::name() const { return "cuda:" + std::to_string(device_); }

void* CudaBackend::scratch(std::size_t bytes) {
  if (bytes <= scratch_bytes_) return scratch_;
  check(!capturing_, "{}: a captured step needs {} bytes of scratch memory and the warm-up step only {}", name(), bytes,
        scratch_bytes_);
  // Grow by at least half, so that the areas kept for captured graphs never add up to more than twice the last one.
  const std::size_t larger = std::max({bytes, scratch_bytes_ + scratch_bytes_ / 2, std::size_t{1} << 20});
  void* area = allocate(larger);
  if (scratch_) outgrown_.push_back(scratch_);
  scratch_ = area;
  scratch_bytes_ = larger;
  return scratch_;
}

void* CudaBackend::allocate(std::size_t bytes) {
  stream();
  void* data = nullptr;
  const AllowInCapture allow;
  const std::scoped_lock lock(freeing_);
  // What a captured step takes is its own: a replay writes there whenever it comes.
  if (!capturing_ && (data = kept_.take(bytes))) return data;
  cudaError_t status = cudaMalloc(&data, BlockCache::rounded(bytes));
  if (status == cudaErrorMemoryAllocation && kept_.kept() > 0) {
    cudaGetLastError();
    for (void* block : kept_.give_up()) cudaFree(block);
    status = cudaMalloc(&data, BlockCache::rounded(bytes));
  }
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    std::size_t available = 0, total = 0;
    cudaMemGetInfo(&available, &total);
    fail(
        "{}: out of memory asking for {:.2f} GiB ({:.2f} GiB free of {:.2f} GiB): use a smaller batch, shorter "
        "sequences, bf16 or gradient accumulation",
        name(), bytes / kGiB, available / kGiB, total / kGiB);
  }
  cuda_check(status, "cudaMalloc");
  return data;
}

// Called from destructors: an error here has been, or will be, reported by the work that caused it.
void CudaBackend::free(void* data, std::size_t bytes) {
  if (!data) return;
  const std::scoped_lock lock(freeing_);
  if (capturing_) {  // the graph will use it every time it runs
    outgrown_.push_back(data);
    return;
  }
  if (kept_.keep(data, bytes)) return;
  if (current_device != device_ && cudaSetDevice(device_) == cudaSuccess) current_device = device_;
  if (cudaFree(data) != cudaSuccess) cudaGetLastError();
}

void CudaBackend::to_device(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  check(!capturing_, "{}: a captured step cannot wait for a copy from the host", name());
  cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream()), "copy to the device");
  synchronize();
}

void CudaBackend::to_host(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  check(!capturing_, "{}: a captured step cannot wait for a copy to the host", name());
  cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream()), "copy to the host");
  synchronize();
}

void CudaBackend::to_device_async(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  if (bytes >= StagedUpload::kLeast && !capturing_) {
    cudaStream_t on = stream();
    if (!staged_) staged_ = std::make_unique<StagedUpload>();
    return staged_->put(on, to, from, bytes);
  }
  cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream()), "copy to the device");
}

std::unique_ptr<AsyncReadback> CudaBackend::readback(std::size_t bytes) { return mailboxes_.open(*this, bytes); }

void CudaBackend::synchronize() { cuda_check(cudaStreamSynchronize(stream()), "synchronize"); }

}  // namespace attend
