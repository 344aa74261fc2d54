// The draws of one image, one after another: the same whatever else is drawn, on however many threads.
#pragma once

#include <cstdint>

#include "attend/base/random.h"
#include "attend/data/synthetic/scenes.h"

namespace attend::data {

class SceneRandom {
 public:
  enum class Use : std::uint8_t { image, captions };

  SceneRandom(std::uint64_t seed, SceneSet set, std::uint64_t image, Use use)
      : seed_(seed),
        stream_(static_cast<std::uint32_t>(set) * 2 + static_cast<std::uint32_t>(use)),
        next_(image << kDrawBits) {}

  double unit() { return to_unit(random_word(seed_, stream_, next_++)); }  // [0, 1)
  double between(double least, double most) { return least + (most - least) * unit(); }
  int below(int count) { return static_cast<int>(unit() * count); }

 private:
  static constexpr int kDrawBits = 20;  // of an image: at most so many draws

  std::uint64_t seed_;
  std::uint32_t stream_;
  std::uint64_t next_;
};

}  // namespace attend::data
