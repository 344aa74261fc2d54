// A language pair small enough to learn in seconds: number words, and the same backwards in another language.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/base/random.h"

namespace attend::test {

struct ToyCorpus {
  int pairs = 300;
  std::uint64_t seed = 1;
};

// train.{en,fr} and valid.{en,fr} in the folder.
inline void write_toy_corpus(const std::filesystem::path& folder, const ToyCorpus& options) {
  const char* english[] = {"one", "two", "three", "four", "five", "six", "seven", "eight"};
  const char* french[] = {"un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit"};
  const auto write = [&](const std::string& name, int pairs, std::uint32_t stream) {
    std::string en, fr;
    for (int i = 0; i < pairs; ++i) {
      const auto line = static_cast<std::uint64_t>(i) * 8;
      const int words = 1 + static_cast<int>(random_word(options.seed, stream, line) % 6);
      std::string forwards, backwards;
      for (int w = 0; w < words; ++w) {
        const std::size_t word = random_word(options.seed, stream, line + 1 + static_cast<std::uint64_t>(w)) % 8;
        forwards += (w ? " " : "") + std::string(english[word]);
        backwards = french[word] + std::string(w ? " " : "") + backwards;
      }
      en += forwards + "\n", fr += backwards + "\n";
    }
    write_file(folder / (name + ".en"), en);
    write_file(folder / (name + ".fr"), fr);
  };
  write("train", options.pairs, 0);
  write("valid", 20, 1);
}

// A Marian of random weights. The fixture has no tokenizer of its own; any with its special tokens at its places will
// do.
inline void write_toy_marian(const std::filesystem::path& folder) {
  for (const char* name : {"config.json", "model.safetensors"})
    write_file(folder / name, read_file(std::string("tests/fixtures/data/marian/") + name));
  Json vocabulary = {{"</s>", 0}, {"<unk>", 1}, {"\u2581", 2}, {"<pad>", 112}};
  for (int letter = 0; letter < 26; ++letter) vocabulary[std::string(1, static_cast<char>('a' + letter))] = 3 + letter;
  for (int id = 29; id < 112; ++id) vocabulary["piece" + std::to_string(id)] = id;
  write_file(folder / "vocab.json", vocabulary.dump());
  for (const char* name : {"source.spm", "target.spm"})
    write_file(folder / name, read_file("tests/fixtures/data/text/spm_unigram.model"));
}

// The words of an `attend train` that learns to write the English side.
inline std::vector<std::string> toy_language_training(const std::filesystem::path& folder,
                                                      const std::filesystem::path& out) {
  std::vector<std::string> words = {"train", "--task", "language-model", "--out", out.string()};
  const auto add = [&](const std::string& flag, const std::string& value) {
    words.push_back("--" + flag), words.push_back(value);
  };
  add("text", (folder / "train.en").string()), add("valid-text", (folder / "valid.en").string());
  add("width", "32"), add("layers", "1"), add("heads", "2"), add("block", "16"), add("batch", "8");
  add("warmup", "10"), add("learning-rate", "0.005"), add("threads", "1");
  return words;
}

// The words of an `attend train` that learns it with a very small model.
inline std::vector<std::string> toy_training(const std::filesystem::path& folder, const std::filesystem::path& out,
                                             const std::string& model = "transformer") {
  std::vector<std::string> words = {"train", "--out", out.string(), "--model", model};
  const auto add = [&](const std::string& flag, const std::string& value) {
    words.push_back("--" + flag), words.push_back(value);
  };
  for (const char* part : {"source", "target", "valid-source", "valid-target"}) {
    const std::string name(part);
    add(name, (folder / (name.starts_with("valid") ? "valid" : "train")).string() +
                  (name.ends_with("source") ? ".en" : ".fr"));
  }
  if (model == "transformer") add("heads", "2"), add("encoder-layers", "1"), add("decoder-layers", "1");
  add("width", "32"), add("hidden", "64"), add("vocabulary-size", "300"), add("tokens", "128");
  add("max-length", "32"), add("warmup", "30"), add("learning-rate", "0.005"), add("threads", "1");
  return words;
}

}  // namespace attend::test
