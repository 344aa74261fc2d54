// ONNX Runtime on a graph that bench/peers/onnxruntime.py has written, timed as our bench programs time ours. That
// script compiles this against an ONNX Runtime that the reader has downloaded; it is no part of our build.
//   onnxruntime_run encode MODEL.onnx THREADS REPS ROWS STATES [KEY=VALUE..] < ids [ROWS, ..]
//   onnxruntime_run generate MODEL.onnx THREADS REPS TOKENS - [KEY=VALUE..] < prompt
// STATES: where the encoder's go, plain f32. KEY=VALUE: entries of the session's configuration. Prints a JSON object:
// seconds per repetition, the largest memory of the process, and what was generated (greedily) from which logits.
#include <onnxruntime_cxx_api.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "bench/support/measure.h"

namespace {

using attend::BenchClock;
using attend::seconds_since;

const Ort::MemoryInfo kMemory = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);

template <class T>
Ort::Value view(std::vector<T>& values, const std::vector<std::int64_t>& shape) {
  return Ort::Value::CreateTensor<T>(kMemory, values.data(), values.size(), shape.data(), shape.size());
}

template <class T>
void print(const char* name, const std::vector<T>& values) {
  std::cout << ", \"" << name << "\": [";
  for (std::size_t i = 0; i < values.size(); ++i) std::cout << (i ? ", " : "") << values[i];
  std::cout << "]";
}

struct Options {
  std::string work, model;
  int threads, reps, count;
  std::string states;
  std::span<char*> entries;
};

Ort::Session open(Ort::Env& env, const Options& options) {
  Ort::SessionOptions session;
  session.SetIntraOpNumThreads(options.threads);
  session.SetGraphOptimizationLevel(ORT_ENABLE_ALL);
  for (const std::string entry : options.entries) {
    const std::size_t equals = entry.find('=');
    session.AddConfigEntry(entry.substr(0, equals).c_str(), entry.substr(equals + 1).c_str());
  }
  return Ort::Session(env, options.model.c_str(), session);
}

// The last axis of an output.
std::int64_t width(const Ort::Session& session, std::size_t output) {
  return session.GetOutputTypeInfo(output).GetTensorTypeAndShapeInfo().GetShape().back();
}

void encode(const Options& options, Ort::Session& session, std::vector<std::int64_t>& ids) {
  const std::int64_t length = static_cast<std::int64_t>(ids.size()) / options.count;
  std::vector<float> states(ids.size() * static_cast<std::size_t>(width(session, 0)));
  Ort::IoBinding binding(session);
  binding.BindInput("ids", view(ids, {options.count, length}));
  binding.BindOutput("states", view(states, {options.count, length, width(session, 0)}));
  std::vector<double> seconds;
  for (int rep = -5; rep < options.reps; ++rep) {  // the first five are not counted
    const auto start = BenchClock::now();
    session.Run(Ort::RunOptions(), binding);
    if (rep >= 0) seconds.push_back(seconds_since(start));
  }
  std::ofstream(options.states, std::ios::binary)
      .write(reinterpret_cast<const char*>(states.data()), static_cast<std::streamsize>(states.size() * sizeof(float)));
  print("seconds", seconds);
}

// The model with its cache, which every step reads and writes in place.
class Generator {
 public:
  Generator(Ort::Session& session, std::int64_t capacity)
      : session_(session), binding_(session), logits_(static_cast<std::size_t>(width(session, 0))) {
    Ort::AllocatorWithDefaultOptions allocator;
    for (std::size_t i = 0; i < session.GetInputCount(); ++i) {
      const std::string name = session.GetInputNameAllocated(i, allocator).get();
      if (!name.starts_with("past")) continue;
      std::vector<std::int64_t> shape = session.GetInputTypeInfo(i).GetTensorTypeAndShapeInfo().GetShape();
      shape[2] = capacity;  // [1, heads, capacity, head]
      const Ort::Value cache = Ort::Value::CreateTensor<float>(allocator, shape.data(), shape.size());
      binding_.BindInput(name.c_str(), cache);
      binding_.BindOutput(("present" + name.substr(4)).c_str(), cache);
    }
    binding_.BindInput("last", view(last_, {1}));
    binding_.BindInput("total", view(total_, {}));
    binding_.BindOutput("logits", view(logits_, {1, width(session, 0)}));
  }

  // Logits [V] after these tokens.
  const std::vector<float>& step(std::vector<std::int64_t>& ids, std::int64_t past) {
    const auto count = static_cast<std::int64_t>(ids.size());
    positions_.resize(ids.size());
    std::iota(positions_.begin(), positions_.end(), past);
    total_[0] = static_cast<std::int32_t>(past + count), last_[0] = total_[0] - 1;
    binding_.BindInput("ids", view(ids, {1, count}));
    binding_.BindInput("positions", view(positions_, {1, count}));
    session_.Run(Ort::RunOptions(), binding_);
    return logits_;
  }

 private:
  Ort::Session& session_;
  Ort::IoBinding binding_;
  std::vector<std::int64_t> positions_;
  std::vector<std::int32_t> last_{0}, total_{0};
  std::vector<float> logits_;
};

void generate(const Options& options, Ort::Session& session, std::vector<std::int64_t>& prompt) {
  const auto length = static_cast<std::int64_t>(prompt.size());
  std::vector<double> prefill, decode;
  std::vector<std::int64_t> written, last(1);
  std::vector<float> first;
  Generator generator(session, length + options.count);
  for (int rep = -1; rep < options.reps; ++rep) {  // the first is not counted
    written.clear();
    auto start = BenchClock::now();
    const std::vector<float>& logits = generator.step(prompt, 0);
    if (rep >= 0) prefill.push_back(seconds_since(start));
    first = logits;
    start = BenchClock::now();
    for (int i = 0; i < options.count; ++i) {
      last[0] = std::max_element(logits.begin(), logits.end()) - logits.begin();
      written.push_back(last[0]);
      generator.step(last, length + i);
    }
    if (rep >= 0) decode.push_back(seconds_since(start));
  }
  print("prefill", prefill);
  print("decode", decode);
  print("tokens", written);
  print("logits", first);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 7) return 1;
  const Options options{argv[1],
                        argv[2],
                        std::stoi(argv[3]),
                        std::stoi(argv[4]),
                        std::stoi(argv[5]),
                        argv[6],
                        std::span(argv + 7, static_cast<std::size_t>(argc - 7))};
  // With a prompt of 512 its flash attention was a tenth slower than the other way (2 threads, AVX-512).
  setenv("ORT_GQA_DISABLE_FLASH_ATTENTION", "1", 0);
  std::vector<std::int64_t> ids;
  for (std::int64_t id; std::cin >> id;) ids.push_back(id);
  try {
    Ort::Env env(ORT_LOGGING_LEVEL_ERROR, "bench");
    Ort::Session session = open(env, options);
    std::cout << "{\"version\": \"" << OrtGetApiBase()->GetVersionString() << '"';
    options.work == "encode" ? encode(options, session, ids) : generate(options, session, ids);
    std::cout << ", \"peak_mb\": " << attend::peak_memory_mb() << "}\n";
  } catch (const std::exception& error) {
    std::cerr << "onnxruntime_run: " << error.what() << "\n";
    return 1;
  }
}
