// Blocks of a kernel that computes a whole step wait for each other, so all of them must run at once. Two such kernels
// at the same time, from two streams, could each get a part of the GPU and wait for ever. So a process has one decoder
// with such a kernel per GPU; the others decode layer by layer.
#pragma once

#include <atomic>

namespace attend::cuda {

class OnlyOne {
 public:
  explicit OnlyOne(int device) : device_(device) {}
  ~OnlyOne() {
    if (held_) taken_[device_] = false;
  }
  OnlyOne(const OnlyOne&) = delete;
  OnlyOne& operator=(const OnlyOne&) = delete;
  bool take() { return held_ = device_ < kDevices && !taken_[device_].exchange(true); }

 private:
  static constexpr int kDevices = 64;
  inline static std::atomic<bool> taken_[kDevices] = {};
  int device_;
  bool held_ = false;
};

}  // namespace attend::cuda
