// Time that has passed: on the wall, or, on a machine that others use too, of this process on its cores. The latter
// says nothing about waiting, so it is for work on the CPU with one thread.
#pragma once

#include <chrono>
#include <ctime>

namespace attend {

class Stopwatch {
 public:
  enum class Counts { wall, cpu };
  explicit Stopwatch(Counts counts) : counts_(counts), start_(now()) {}
  double seconds() const { return now() - start_; }

 private:
  double now() const {
    if (counts_ == Counts::cpu) return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  Counts counts_;
  double start_;
};

}  // namespace attend
