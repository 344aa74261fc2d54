// What a training step keeps in memory besides weights, gradients of weights and moments, with and without --recompute.
//   activation_memory [--batch 64] [--length 1024] [--dtype bf16]
// The arena's plan depends on shapes alone, so this runs on a device whose kernels do nothing: it says in a second what
// any GPU will take. Memory that is only reserved here must not be more than the system allows.
#include <fmt/format.h>

#include <functional>

#include "attend/models/bert_heads.h"
#include "attend/models/gpt2.h"
#include "attend/models/transformer.h"
#include "attend/nn/parameters.h"
#include "attend/tensor/pass.h"
#include "bench/support/bench_main.h"
#include "tests/tensor/null_backend.h"

namespace {

using namespace attend;

struct Options {
  std::int64_t batch = 64, length = 1024;
  std::string dtype = "bf16";
};

using LossOf = std::function<Tensor(Pass& pass)>;

double gigabytes(Backend& backend, nn::Parameters& parameters, Recompute recompute, const LossOf& loss_of) {
  Pass pass(backend, {.recording = true, .recompute = recompute});
  for (int step = 0; step < 2; ++step) {
    pass.begin({.plan = 1});
    parameters.start_gradients();
    pass.backward(loss_of(pass));
  }
  return static_cast<double>(pass.arena().slab_bytes()) / 1e9;
}

void print_line(Backend& backend, const char* name, nn::Parameters& parameters, const LossOf& loss_of) {
  double bytes[3];
  for (const Recompute recompute : {Recompute::none, Recompute::feed_forward, Recompute::layer})
    bytes[static_cast<int>(recompute)] = gigabytes(backend, parameters, recompute, loss_of);
  fmt::print("{:<18} {:>8.2f} GB   feed-forward {:>8.2f} GB ({:.0f} %)   layer {:>8.2f} GB ({:.0f} %)\n", name,
             bytes[0], bytes[1], 100 * bytes[1] / bytes[0], bytes[2], 100 * bytes[2] / bytes[0]);
}

void run(const Options& options) {
  test::NullBackend backend;
  const DType dtype = options.dtype == "bf16" ? DType::bf16 : DType::f32;
  const nn::ParametersOptions made{.dtype = dtype, .initialized = false};
  const auto ids = [&](std::int64_t length) {
    return make_tensor(backend, {options.batch * options.length / length, length}, DType::i32);
  };
  fmt::print("activations of a step of {} x {} tokens, {}\n", options.batch, options.length, options.dtype);
  {
    models::GPT2LanguageModel model({.vocabulary = 50304, .max_length = options.length});
    nn::Parameters parameters(backend, model, made);
    const Tensor texts = ids(options.length);
    print_line(backend, "GPT-2 124M", parameters,
               [&](Pass& pass) { return model.loss({.ids = pass.input(texts)}, pass.input(texts)).mean; });
  }
  {
    models::MaskedLanguageModel model(models::BertConfig{});
    nn::Parameters parameters(backend, model, made);
    const Tensor texts = ids(128);
    print_line(backend, "BERT-base, 128", parameters,
               [&](Pass& pass) { return model.loss({.texts = {.ids = pass.input(texts)}}, pass.input(texts)).mean; });
  }
  models::Transformer model({.vocabulary = 37000});
  nn::Parameters parameters(backend, model, made);
  model.place(backend, dtype);
  const Tensor texts = ids(32);
  print_line(backend, "Transformer, 32+32", parameters, [&](Pass& pass) {
    return model.loss({{.ids = pass.input(texts)}, {.ids = pass.input(texts)}, pass.input(texts)}, {}).mean;
  });
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Activation memory of training steps.");
  app.add_option("--batch", options.batch, "texts");
  app.add_option("--length", options.length, "tokens of each");
  app.add_option("--dtype", options.dtype, "bf16 or f32")->check(CLI::IsMember({"f32", "bf16"}));
  return bench_main(app, argc, argv, [&] { run(options); });
}
