// Tensors of a model that are not learned (running statistics, vectors of a power iteration): saved, loaded, moved and
// kept by a run like the rest, in f32 whatever the model computes in, and left alone by gradients and optimiser.
#include <gtest/gtest.h>

#include <filesystem>

#include "attend/checkpoint/model_file.h"
#include "attend/checkpoint/safetensors.h"
#include "attend/nn/parameters.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/linear.h"
#include "attend/ops/reduce.h"
#include "attend/train/loop/optimizer.h"
#include "attend/train/loop/run_state.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

using nn::Init;
using nn::Role;

// A projection whose result is scaled by a running deviation.
struct Normalised {
  nn::Parameter mean{{4}, {}, Role::buffer};
  nn::Parameter weight{{4, 3}, Init::xavier(3, 4), Role::weight};
  nn::Parameter deviation{{4}, {Init::ones}, Role::buffer};
  nn::Parameter bias{{4}, {}};

  template <class Visitor>
  void visit(Visitor&& v) {
    v("running_mean", mean), v("weight", weight), v("running_deviation", deviation), v("bias", bias);
  }
};

const nn::Parameters::Entry& entry_named(const nn::Parameters& parameters, const std::string& name) {
  for (const nn::Parameters::Entry& entry : parameters.entries())
    if (entry.name == name) return entry;
  throw Error("no " + name);
}

std::vector<float> values_of(const nn::Parameters& parameters, const std::string& name) {
  return parameters.read(entry_named(parameters, name));
}

class Buffers : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    folder_ = std::filesystem::temp_directory_path() / ("attend_buffers_" + std::string(GetParam()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

TEST_P(Buffers, AreF32AndNotLearned) {
  for (DType dtype : {DType::f32, DType::bf16}) {
    Normalised model;
    nn::Parameters parameters(backend(), model, {.dtype = dtype});
    EXPECT_EQ(parameters.count(), 16);
    EXPECT_EQ(model.mean.value.dtype(), DType::f32);
    EXPECT_EQ(model.weight.value.dtype(), dtype);
    EXPECT_EQ(download(model.deviation.value), (std::vector<float>{1, 1, 1, 1}));
    EXPECT_EQ(parameters.gradient().shape(), parameters.value().shape());
    EXPECT_FALSE(entry_named(parameters, "running_mean").learned());

    train::Optimizer optimizer(parameters, {.weight_decay = 0.1f});
    EXPECT_EQ(optimizer.first_moment().shape(), parameters.gradient().shape());
    const std::vector<float> before = values_of(parameters, "weight");
    const std::vector<float> odd = {0.1f, 0.2f, 0.3f, 1.0001f};  // bf16 would round these
    upload(model.deviation.value, odd);
    Pass pass(backend(), {.recording = true});
    parameters.start_gradients();
    const Tensor x = pass.input(tensor_of(backend(), {2, 3}, {1, 2, 3, 4, 5, 7}, dtype));
    const Tensor y = ops::cast(ops::linear(x, model.weight, model.bias), DType::f32);
    pass.backward(ops::mean(ops::multiply(y, model.deviation.value).reshape({8}), 0));
    parameters.finish_gradients();
    EXPECT_FALSE(gradient_of(model.deviation.value).defined());
    optimizer.set_rate(0.1f, 1);
    optimizer.update();
    EXPECT_NE(values_of(parameters, "weight"), before);
    EXPECT_EQ(download(model.deviation.value), odd);
  }
}

TEST_P(Buffers, AreSavedAndLoaded) {
  const std::vector<float> mean = {-3, 0.1f, 2, 1e-3f};
  const std::string path = (folder_ / "model.safetensors").string();
  for (DType dtype : {DType::f32, DType::bf16}) {
    Normalised model;
    nn::Parameters parameters(backend(), model, {.dtype = dtype});
    upload(model.mean.value, mean);
    checkpoint::save_weights(path, parameters);
    EXPECT_EQ(checkpoint::Safetensors::open(path)["running_mean"].type, checkpoint::StoredType::f32);

    Normalised other;
    nn::Parameters run(backend(), other,
                       {.dtype = dtype, .trained = false, .initialized = false, .weights = nn::WeightForm::stored});
    checkpoint::load_weights(checkpoint::Safetensors::open(path), run);
    EXPECT_EQ(download(other.mean.value), mean);
    EXPECT_EQ(download(other.deviation.value), (std::vector<float>{1, 1, 1, 1}));
  }
}

TEST_P(Buffers, AreKeptByARun) {
  Normalised model;
  nn::Parameters parameters(backend(), model, {.dtype = DType::bf16});
  train::Optimizer optimizer(parameters, {});
  const std::vector<float> mean = {-3, 0.1f, 2, 1e-3f};
  upload(model.mean.value, mean);
  const std::filesystem::path file = std::filesystem::path(folder_) / "state.safetensors";
  const train::OptimizedParameters learning[] = {{parameters, optimizer}};
  write_file(file, [&](const FileWriter& write) { train::produce_state(write, {.step = 3}, learning); });
  backend().fill(model.mean.value, 0);
  EXPECT_EQ(train::load_state(file, learning).step, 3);
  EXPECT_EQ(download(model.mean.value), mean);
}

INSTANTIATE_TEST_SUITE_P(Devices, Buffers, every_device(), name_of_device);

}  // namespace
}  // namespace attend::test
