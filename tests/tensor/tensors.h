// Small helpers of the tensor tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "attend/backends.h"
#include "attend/tensor/pass.h"
#include "attend/tensor/tensor.h"

namespace attend::test {

inline Backend& cpu() {
  static const std::unique_ptr<Backend> kBackend = open_backend("cpu");
  return *kBackend;
}

// Null where there is no GPU, or no CUDA in the build.
inline Backend* cuda() {
  static const std::unique_ptr<Backend> kBackend = gpus().empty() ? nullptr : open_backend("cuda");
  return kBackend.get();
}

inline Tensor tensor_of(Backend& backend, const Shape& shape, const std::vector<float>& values,
                        DType dtype = DType::f32) {
  Tensor tensor = make_tensor(backend, shape, dtype);
  upload(tensor, values);
  return tensor;
}

inline std::vector<float> counted(std::int64_t count, float from = 0) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(from + static_cast<float>(i));
  return values;
}

// A test on each device there is; "cuda" is skipped, and says so, where there is none.
class OnDevice : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const bool wants_cuda = std::string(GetParam()) == "cuda";
    if (wants_cuda && !cuda()) GTEST_SKIP() << (built_with_cuda() ? "there is no GPU" : "this build has no CUDA");
    backend_ = wants_cuda ? cuda() : &cpu();
  }
  Backend& backend() { return *backend_; }

 private:
  Backend* backend_ = nullptr;
};

inline auto every_device() { return testing::Values("cpu", "cuda"); }
inline std::string name_of_device(const testing::TestParamInfo<const char*>& info) { return info.param; }

}  // namespace attend::test
