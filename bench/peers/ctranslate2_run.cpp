// CTranslate2 on the sentences that bench/peers/ctranslate2.py gives it, timed as bench/translation_decoding.cpp times
// ours. That script compiles this against a CTranslate2 that the reader has built; it is no part of our build.
//   ctranslate2_run FOLDER TYPE THREADS BEAMS BATCH LIMIT END < ids      each sentence with the id END after it
// TYPE: float32 or int8. LIMIT: tokens of a translation at most. Prints a JSON object: seconds for all sentences (the
// model is loaded and has been used once), the ids of each translation, and the largest memory of the process.
#include <ctranslate2/translator.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "bench/support/measure.h"

namespace {

using Sentences = std::vector<std::vector<std::string>>;  // the vocabulary's words are the ids in decimal

Sentences read(const std::string& end) {
  Sentences sentences;
  std::vector<std::string> open;
  for (std::string id; std::cin >> id;) {
    open.push_back(id);
    if (id == end) sentences.push_back(std::move(open)), open = {};
  }
  return sentences;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 8) return 1;
  const auto number = [&](int i) { return static_cast<std::size_t>(std::atol(argv[i])); };
  const Sentences sentences = read(argv[7]);
  ctranslate2::ReplicaPoolConfig config;
  config.num_threads_per_replica = number(3);
  ctranslate2::Translator translator(argv[1], ctranslate2::Device::CPU, ctranslate2::str_to_compute_type(argv[2]), {0},
                                     false, config);
  ctranslate2::TranslationOptions options;
  options.beam_size = number(4);
  options.length_penalty = 0.6f;
  options.max_decoding_length = number(6);
  options.min_decoding_length = 0;
  options.return_end_token = true;
  const Sentences few(sentences.begin(), sentences.begin() + std::min<std::ptrdiff_t>(32, std::ssize(sentences)));
  translator.translate_batch(few, options, number(5));
  const auto start = attend::BenchClock::now();
  const auto results = translator.translate_batch(sentences, options, number(5));
  std::cout << "{\"seconds\": " << attend::seconds_since(start) << ", \"peak_mb\": " << attend::peak_memory_mb()
            << ", \"ids\": [";
  const char* comma = "";
  for (const ctranslate2::TranslationResult& result : results) {
    std::cout << comma << "[";
    comma = ", ";
    for (std::size_t i = 0; i < result.output().size(); ++i) std::cout << (i ? ", " : "") << result.output()[i];
    std::cout << "]";
  }
  std::cout << "]}\n";
}
