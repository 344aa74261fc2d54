#include "attend/cuda/way_planner.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "attend/cuda/cuda_backend.h"
#include "attend/cuda/cuda_check.h"

namespace attend {
namespace {

constexpr float kRound = 1;  // milliseconds of each way in a round
constexpr int kRounds = 4;   // an even number: they go there and back
// A way behind the first must be faster by as much as a race cannot tell.
constexpr float kMargin = 0.98f;
// The kernels behind the names; a new number forgets what was chosen before.
constexpr const char* kVersion = "1";

std::string device_name(int device) {
  cudaDeviceProp properties;
  cuda_check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  return properties.name;
}

// Milliseconds between two points of a stream.
class StreamTimer {
 public:
  explicit StreamTimer(cudaStream_t stream) : stream_(stream) {
    cuda_check(cudaEventCreate(&begin_), "cudaEventCreate");
    cuda_check(cudaEventCreate(&end_), "cudaEventCreate");
  }
  ~StreamTimer() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  StreamTimer(const StreamTimer&) = delete;
  StreamTimer& operator=(const StreamTimer&) = delete;

  // Of one run, the mean of `runs`; infinite for a way that does not fit.
  float of(const Way& way, const Grad& into, int runs) const {
    bool ran = true;
    cudaEventRecord(begin_, stream_);
    for (int i = 0; i < runs && ran; ++i) ran = way.run(into);
    cudaEventRecord(end_, stream_);
    float milliseconds = INFINITY;
    cuda_check(cudaEventSynchronize(end_), "timing a convolution");
    if (ran) cuda_check(cudaEventElapsedTime(&milliseconds, begin_, end_), "timing a convolution");
    return milliseconds / static_cast<float>(runs);
  }

 private:
  cudaStream_t stream_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace

std::int64_t size_bucket(std::int64_t size) {
  if (size <= 8) return size <= 1 ? size : 8;
  if (size <= 512) return (size + 15) / 16 * 16;
  const std::int64_t step = std::int64_t{1} << (std::bit_width(static_cast<std::uint64_t>(size - 1)) - 3);
  return (size + step - 1) / step * step;
}

WayPlanner::WayPlanner(CudaBackend& backend, const std::string& kind)
    : backend_(backend), choices_(kind, device_name(backend.device()), kVersion) {
  if (const char* name = std::getenv("ATTEND_CONVOLUTION")) forced_ = name;
}

void WayPlanner::run(const std::string& key, const std::vector<Way>& ways, const Grad& into) {
  std::string chosen = forced_;
  if (chosen.empty() && ways.size() > 1) {
    if (const auto known = choices_.find(key)) {
      chosen = *known;
    } else if (backend_.tunes()) {
      chosen = race(ways, into);
      choices_.insert(key, chosen);
    }
  }
  if (!chosen.empty())
    for (const Way& way : ways)
      if (way.name.starts_with(chosen)) {
        if (way.run(into)) return;
        check(forced_.empty(), "cuda: $ATTEND_CONVOLUTION asks for {}, which does not fit {}", way.name, key);
      }
  for (const Way& way : ways)
    if (way.run(into)) return;
  fail("cuda: none of {} ways fits {}", ways.size(), key);
}

// Rounds go over all ways, there and back: under load the clock falls within milliseconds.
std::string WayPlanner::race(const std::vector<Way>& ways, const Grad& into) {
  Grad trial = into;
  if (into.accumulate) trial.into = make_tensor(backend_, into.into.shape(), into.into.dtype());  // adds only once
  const StreamTimer timer(backend_.stream());
  struct Runner {
    const Way* way;
    int runs = 1;
    float time = 0;
  };
  std::vector<Runner> runners;
  for (const Way& way : ways) {
    timer.of(way, trial, 1);  // loads the kernel
    const float once = timer.of(way, trial, 1);
    if (once < INFINITY) runners.push_back({&way, std::clamp(static_cast<int>(kRound / std::max(once, 0.01f)), 1, 50)});
  }
  if (runners.empty()) return {};
  for (int round = 0; round < kRounds; ++round) {
    for (Runner& runner : runners) runner.time += timer.of(*runner.way, trial, runner.runs);
    std::reverse(runners.begin(), runners.end());
  }
  const auto winner = std::min_element(runners.begin(), runners.end(),
                                       [](const Runner& a, const Runner& b) { return a.time < b.time; });
  return winner->time < kMargin * runners.front().time ? winner->way->name : runners.front().way->name;
}

}  // namespace attend
