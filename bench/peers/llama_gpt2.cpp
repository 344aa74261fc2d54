// llama.cpp on the prompt that bench/gpt2_generation.py gives it, timed as bench/gpt2_generation.cpp times ours. The
// script compiles this against a llama.cpp that the reader has built; it is no part of our build.
//   llama_gpt2 MODEL.gguf THREADS TOKENS REPS < prompt ids      prints {"prefill": [..], "decode": [..], ...}
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <vector>

#include <llama.h>

#include "bench/support/measure.h"

namespace {

using attend::BenchClock;
using attend::seconds_since;

template <class T>
void print(const char* name, const std::vector<T>& values, const char* end) {
  std::cout << '"' << name << "\": [";
  for (std::size_t i = 0; i < values.size(); ++i) std::cout << (i ? ", " : "") << values[i];
  std::cout << "]" << end;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 1;
  const int threads = std::atoi(argv[2]), tokens = std::atoi(argv[3]), reps = std::atoi(argv[4]);
  std::vector<llama_token> prompt;
  for (llama_token id; std::cin >> id;) prompt.push_back(id);
  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  ggml_backend_load_all();
  llama_model* model = llama_model_load_from_file(argv[1], llama_model_default_params());
  if (model == nullptr) return 2;
  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<std::uint32_t>(prompt.size()) + static_cast<std::uint32_t>(tokens) + 1;
  params.n_batch = params.n_ubatch = static_cast<std::uint32_t>(prompt.size());
  params.n_threads = params.n_threads_batch = threads;
  const int vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
  std::vector<double> prefill, decode;
  std::vector<float> first;
  std::vector<llama_token> written;
  llama_context* context = llama_init_from_model(model, params);
  if (context == nullptr) return 3;
  for (int rep = -1; rep < reps; ++rep) {  // the first is not counted
    llama_memory_clear(llama_get_memory(context), true);
    written.clear();
    llama_token last = 0;
    const auto read = [&] {
      const float* logits = llama_get_logits_ith(context, -1);
      last = static_cast<llama_token>(std::max_element(logits, logits + vocabulary) - logits);
      written.push_back(last);
    };
    auto start = BenchClock::now();
    if (llama_decode(context, llama_batch_get_one(prompt.data(), static_cast<int>(prompt.size()))) != 0) return 4;
    const float* logits = llama_get_logits_ith(context, -1);
    if (rep >= 0) prefill.push_back(seconds_since(start));
    first.assign(logits, logits + vocabulary);
    read();
    start = BenchClock::now();
    for (int i = 0; i < tokens; ++i) {
      if (llama_decode(context, llama_batch_get_one(&last, 1)) != 0) return 5;
      read();
    }
    if (rep >= 0) decode.push_back(seconds_since(start));
  }
  std::cout << "{";
  print("prefill", prefill, ", ");
  print("decode", decode, ", ");
  print("tokens", written, ", ");
  print("logits", first, ", ");
  std::cout << "\"peak_mb\": " << attend::peak_memory_mb() << "}\n";
  llama_free(context);
  llama_model_free(model);
}
