// Mailboxes on the host for what the device sends: pinned memory, or a copy would wait for the device, and an event
// behind it. Making one takes about as long as a short decoding step, so closed ones are opened again.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "attend/tensor/backend.h"

struct CUevent_st;

namespace attend {

class CudaBackend;

class Mailboxes {
 public:
  std::unique_ptr<AsyncReadback> open(const CudaBackend& backend, std::size_t bytes);
  void close();  // frees all that nobody has open

 private:
  friend class CudaReadback;
  struct Box {
    void* data = nullptr;
    std::size_t bytes = 0;
    CUevent_st* arrived = nullptr;
  };
  void put_back(const Box& box);

  std::mutex mutex_;
  std::vector<Box> closed_;
};

}  // namespace attend
