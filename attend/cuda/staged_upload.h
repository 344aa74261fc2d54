// Copies to the device while it computes: through pinned memory of the host and a stream of its own into a spare area
// of the device, from where the device's own stream moves them to their place. Plain memory would make the host wait
// for all work before, and the device for the copy: 12 MB, a batch of 1,024 images of 32 x 32, take as long as a third
// of a step.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>

namespace attend {

class StagedUpload {
 public:
  // Copies of less are as fast without: the driver stages them itself.
  static constexpr std::size_t kLeast = std::size_t{1} << 16;

  StagedUpload();
  ~StagedUpload();
  StagedUpload(const StagedUpload&) = delete;
  StagedUpload& operator=(const StagedUpload&) = delete;

  // `from` may change when this returns; what is launched on the stream afterwards reads the new bytes. Waits only for
  // the copy before the last one.
  void put(cudaStream_t stream, void* to, const void* from, std::size_t bytes);

 private:
  struct Area {
    void *host = nullptr, *device = nullptr;
    std::size_t bytes = 0;
    cudaEvent_t arrived = nullptr, moved = nullptr;  // in the device's area; at its place
  };
  static void grow(Area& area, std::size_t bytes);

  cudaStream_t stream_ = nullptr;
  std::array<Area, 2> areas_;  // in turn
  std::size_t next_ = 0;
};

}  // namespace attend
