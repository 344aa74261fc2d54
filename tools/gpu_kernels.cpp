// Time by kernel of a program on an NVIDIA GPU: a library that CUDA loads into it (CUDA_INJECTION64_PATH,
// tools/gpu-kernels) and that CUPTI tells when each kernel began and ended, those of captured graphs included. At the
// end it prints the kernels of the last GPU_KERNELS_MS milliseconds, the largest sums first: share, milliseconds,
// launches, name.
#include <cupti.h>
#include <cxxabi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace {

struct Kernel {
  std::uint64_t begin, end;
  const char* name;
};

std::vector<Kernel>& kernels() {
  static auto* all = new std::vector<Kernel>;  // outlives what runs at the end
  return *all;
}

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most) {
  *size = std::size_t{8} << 20, *most = 0;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, *size));
}

void CUPTIAPI take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  for (CUpti_Activity* record = nullptr; cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS;) {
    if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
    const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel9*>(record);
    kernels().push_back({kernel->start, kernel->end, kernel->name});
  }
  std::free(buffer);
}

std::string readable(const char* name) {
  int status = 0;
  char* plain = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  const std::string text = status == 0 ? plain : name;
  std::free(plain);
  return text.substr(0, 150);
}

void report() {
  cuptiActivityFlushAll(1);
  std::uint64_t last = 0;
  for (const Kernel& kernel : kernels()) last = std::max(last, kernel.end);
  const char* wanted = std::getenv("GPU_KERNELS_MS");
  const double span = (wanted ? std::atof(wanted) : 500) * 1e6;
  struct Sum {
    double nanoseconds = 0;
    int launches = 0;
  };
  std::map<std::string, Sum> sums;
  double busy = 0;
  for (const Kernel& kernel : kernels()) {
    if (static_cast<double>(last - kernel.begin) > span) continue;
    Sum& sum = sums[readable(kernel.name)];
    const auto time = static_cast<double>(kernel.end - kernel.begin);
    sum.nanoseconds += time, ++sum.launches, busy += time;
  }
  std::vector<std::pair<std::string, Sum>> sorted(sums.begin(), sums.end());
  std::sort(sorted.begin(), sorted.end(), [](auto& a, auto& b) { return a.second.nanoseconds > b.second.nanoseconds; });
  std::fprintf(stderr, "%zu kernels in all; in the last %.0f ms kernels ran for %.1f ms\n", kernels().size(),
               span * 1e-6, busy * 1e-6);
  for (const auto& [name, sum] : sorted)
    if (sum.nanoseconds > 0.003 * busy)
      std::fprintf(stderr, "%5.1f %% %9.3f ms %6d  %s\n", 100 * sum.nanoseconds / busy, sum.nanoseconds * 1e-6,
                   sum.launches, name.c_str());
}

}  // namespace

extern "C" int InitializeInjection() {
  if (cuptiActivityRegisterCallbacks(give_buffer, take_buffer) != CUPTI_SUCCESS ||
      cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) != CUPTI_SUCCESS)
    std::fprintf(stderr, "gpu-kernels: CUPTI records no kernels here\n");
  std::atexit(report);
  return 1;
}
