// The processor or GPU that models compute on.
//
//   const attend::Device device("cpu");
//   const attend::Translator translator(attend::find_model("en-fr"), device);
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace attend {

class Backend;

struct BackendOptions {
  int threads = 0;  // CPU: 0 takes every core this process may use
  // CPU ("bf16x3"): f32 products from bf16 pieces where there are matrix units: faster, error a few 1e-6.
  bool fast_products = false;
  // CPU: what is computed for a row has the same bits whatever other rows are computed with it (docs/reliability.md).
  // Training turns it off: few rows are multiplied faster by weights that are not packed.
  bool batch_invariant = true;
  // CPU: a text has the same bits however it is cut into a prompt and tokens after it. Prompts are read query by query,
  // and caches are f32; local attention (windows) is exempt.
  bool exact_prompts = false;
};

// Copies are the same device.
class Device {
 public:
  // "cpu", "cuda" or "gpu" (the first GPU) or "cuda:1". Throws Error when the name is none of these, when this build
  // has no CUDA, and when there is no such GPU.
  explicit Device(std::string_view name = "cpu", const BackendOptions& options = {});

  const std::shared_ptr<Backend>& backend() const { return backend_; }  // for the library's own code

 private:
  std::shared_ptr<Backend> backend_;  // which models opened on it keep, too
};

// The names a Device takes here and now: "cpu", then one "cuda:N" for each GPU.
std::vector<std::string> backend_names();

// Whether CUDA is linked in, or libattend_cuda.so lies where it is looked for.
bool built_with_cuda();

struct Gpu {
  std::string name;
  std::size_t memory = 0;    // bytes
  int major = 0, minor = 0;  // compute capability
  int multiprocessors = 0;
};

// Empty where there is no GPU, no driver, or no CUDA in the build.
std::vector<Gpu> gpus();

}  // namespace attend
