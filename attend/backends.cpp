#include "attend/backends.h"

#include <fmt/core.h>

#include <charconv>

#include "attend/base/error.h"
#include "attend/base/joined.h"
#include "attend/base/limits.h"
#include "attend/cpu/cpu_backend.h"
#include "attend/cuda_library.h"

namespace attend {

namespace {

std::unique_ptr<Backend> open_cuda(int device) {
  const CudaLibrary& cuda = cuda_library();
  check(cuda.plugin != nullptr, "device: cuda was asked for, but {}; --device cpu computes without", cuda.missing);
  const std::size_t count = cuda.plugin->devices().size();
  check(count > 0,
        "device: cuda was asked for, but no GPU was found (is the driver loaded? try nvidia-smi); --device cpu "
        "computes without");
  check(static_cast<std::size_t>(device) < count, "device: cuda:{} was asked for, but the last of {} is cuda:{}",
        device, count == 1 ? std::string("one GPU") : fmt::format("{} GPUs", count), count - 1);
  return cuda.plugin->open(device);
}

}  // namespace

std::unique_ptr<Backend> open_backend(std::string_view name, const BackendOptions& options) {
  check(options.threads >= 0 && options.threads <= limits::kMostThreads,
        "device: threads must be 0 (all cores) to {}, not {}", limits::kMostThreads, options.threads);
  if (name == "cpu")
    return std::make_unique<CpuBackend>(CpuOptions{
        .threads = options.threads,
        .precision = options.fast_products ? cpu::Precision::split : cpu::Precision::exact,
        .batch_invariant = options.batch_invariant,
        .exact_prompts = options.exact_prompts,
    });
  check(!options.exact_prompts, "device: --exact-prompts works on the CPU only, not on {}", name);
  check(!options.fast_products, "device: bf16x3 is for the CPU's matrix units; on {} take f32 or bf16", name);
  if (name == "cuda" || name == "gpu") return open_cuda(0);
  constexpr std::string_view kCuda = "cuda:";
  if (name.starts_with(kCuda)) {
    const std::string_view digits = name.substr(kCuda.size());
    int device = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), device);
    if (error == std::errc() && end == digits.data() + digits.size() && device >= 0) return open_cuda(device);
  }
  fail("device: '{}' is unknown; there {} {}", name, backend_names().size() == 1 ? "is" : "are",
       joined(backend_names(), ", "));
}

std::vector<std::string> backend_names() {
  std::vector<std::string> names = {"cpu"};
  for (std::size_t i = 0; i < gpus().size(); ++i) names.push_back(fmt::format("cuda:{}", i));
  return names;
}

bool built_with_cuda() { return has_cuda_library(); }

std::vector<Gpu> gpus() {
  std::vector<Gpu> found;
  if (!cuda_library().plugin) return found;
  for (const CudaDevice& device : cuda_library().plugin->devices())
    found.push_back({.name = device.name,
                     .memory = device.memory,
                     .major = device.major,
                     .minor = device.minor,
                     .multiprocessors = device.multiprocessors});
  return found;
}

}  // namespace attend
