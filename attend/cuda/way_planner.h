// Picks the fastest of several ways to compute the same result: they are timed once on the problem itself, and the
// winner is remembered, in a file too.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "attend/cuda/choice_cache.h"
#include "attend/tensor/backend.h"

namespace attend {

class CudaBackend;

struct Way {
  std::string name;
  // False where the way does not fit after all; then nothing has been launched.
  std::function<bool(const Grad& into)> run;
};

class WayPlanner {
 public:
  WayPlanner(CudaBackend& backend, const std::string& kind);

  // Computes the result by the way that won for the key; by the first that fits while there is no time for a race. Keys
  // have no spaces. $ATTEND_CONVOLUTION=NAME takes the first way whose name begins like that, where there is one, and
  // fails where it does not fit: for tests.
  void run(const std::string& key, const std::vector<Way>& ways, const Grad& into);

 private:
  std::string race(const std::vector<Way>& ways, const Grad& into);

  CudaBackend& backend_;
  ChoiceCache choices_;
  std::string forced_;
};

// Problems of nearly the same size share one choice: packed batches have another number of rows every step. From 512 on
// the sizes of a bucket differ by at most a quarter.
std::int64_t size_bucket(std::int64_t size);

}  // namespace attend
