#include "tests/ops/devices.h"

#include <memory>

namespace attend::test {

Backend& cpu() {
  static const std::unique_ptr<Backend> kBackend = open_backend("cpu");
  return *kBackend;
}

Backend& exact_cpu() {
  static const std::unique_ptr<Backend> kBackend = open_backend("cpu");
  return *kBackend;
}

Backend* cuda() {
  static const std::unique_ptr<Backend> kBackend = gpus().empty() ? nullptr : open_backend("cuda");
  return kBackend.get();
}

std::string no_cuda() { return built_with_cuda() ? "there is no GPU on this machine" : "this build has no CUDA"; }

std::vector<const Case*> every_case() {
  std::vector<const Case*> cases;
  for (const Case& one : test_cases()) cases.push_back(&one);
  return cases;
}

}  // namespace attend::test
