#include "attend/cuda/staged_upload.h"

#include <cstring>

#include "attend/cuda/cuda_check.h"

namespace attend {

StagedUpload::StagedUpload() {
  cuda_check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  for (Area& area : areas_) {
    cuda_check(cudaEventCreateWithFlags(&area.arrived, cudaEventDisableTiming), "cudaEventCreate");
    cuda_check(cudaEventCreateWithFlags(&area.moved, cudaEventDisableTiming), "cudaEventCreate");
  }
}

StagedUpload::~StagedUpload() {
  cudaStreamSynchronize(stream_);
  for (Area& area : areas_) {
    cudaEventSynchronize(area.moved);
    cudaFreeHost(area.host);
    cudaFree(area.device);
    cudaEventDestroy(area.arrived);
    cudaEventDestroy(area.moved);
  }
  cudaStreamDestroy(stream_);
}

void StagedUpload::grow(Area& area, std::size_t bytes) {
  cuda_check(cudaEventSynchronize(area.moved), "copy to the device");
  cudaFreeHost(area.host);
  cudaFree(area.device);
  area.host = area.device = nullptr, area.bytes = 0;
  cuda_check(cudaMallocHost(&area.host, bytes), "cudaMallocHost");
  cuda_check(cudaMalloc(&area.device, bytes), "cudaMalloc");
  area.bytes = bytes;
}

void StagedUpload::put(cudaStream_t stream, void* to, const void* from, std::size_t bytes) {
  Area& area = areas_[next_];
  next_ = 1 - next_;
  // An event that was never recorded has happened.
  if (bytes > area.bytes) grow(area, bytes);
  cuda_check(cudaEventSynchronize(area.arrived), "copy to the device");
  std::memcpy(area.host, from, bytes);
  cuda_check(cudaStreamWaitEvent(stream_, area.moved), "copy to the device");
  cuda_check(cudaMemcpyAsync(area.device, area.host, bytes, cudaMemcpyHostToDevice, stream_), "copy to the device");
  cuda_check(cudaEventRecord(area.arrived, stream_), "cudaEventRecord");
  cuda_check(cudaStreamWaitEvent(stream, area.arrived), "copy to the device");
  cuda_check(cudaMemcpyAsync(to, area.device, bytes, cudaMemcpyDeviceToDevice, stream), "copy on the device");
  cuda_check(cudaEventRecord(area.moved, stream), "cudaEventRecord");
}

}  // namespace attend
