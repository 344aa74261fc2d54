// Any bytes as the state.safetensors of a run whose model is small.
#include "attend/train/loop/run_state.h"

#include <fstream>
#include <iterator>

#include "attend/backends.h"
#include "attend/nn/layers.h"
#include "fuzz/shared/target.h"

namespace attend::fuzz {

const Target kTarget = {.file = "state.safetensors",
                        .schema = R"({"dtype": ["F32", "BF16", "I32"], "shape": [[16], [32], [0], [4, 4]],
                                  "__metadata__": [{"attend_run": "{}"}, {}],
                                  "@tensors": ["master", "first_moment", "second_moment", "units8"],
                                  "@words": ["\"step\":", "\"position\":null", "\"checkpoints\":[1]", "1e999", "-1"]})"};

namespace {

struct Model {
  nn::Linear linear{4, 2, {}};
  template <class Visitor>
  void visit(Visitor&& v) {
    v("linear", linear);
  }
};

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

void enter(const Input& input) {
  static const std::unique_ptr<Backend> backend = open_backend("cpu", {.threads = 1});
  Model model;
  nn::Parameters parameters(*backend, model, {});
  train::Optimizer optimizer(parameters, {});
  const train::OptimizedParameters learning[] = {{parameters, optimizer}};
  const std::filesystem::path file = folder() / "state.safetensors";
  const auto save = [&](const train::RunState& state) {
    write_file(file, [&](const FileWriter& write) { train::produce_state(write, state, learning); });
  };
  write("state.safetensors", input.first().bytes);
  save(train::load_state(file, learning));
  // What was read is what is saved.
  const std::string saved = read(file);
  must_take([&] { save(train::load_state(file, learning)); }, "a saved state can be read");
  must(read(file) == saved, "a state comes back as it was saved");
}

}  // namespace attend::fuzz
