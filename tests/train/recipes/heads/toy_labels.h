// Texts that count, small enough to learn in seconds: which word is hidden follows from its neighbours, and labels,
// tags and answers from the words.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "attend/base/files.h"
#include "attend/base/random.h"

namespace attend::test {

inline const std::vector<std::string>& number_words() {
  static const std::vector<std::string> words = {"one", "two", "three", "four", "five", "six", "seven", "eight"};
  return words;
}

// Words of text number i: it counts on from some number and begins again behind eight.
inline std::vector<std::size_t> counted(std::uint32_t stream, std::uint64_t i) {
  const std::size_t first = random_word(5, stream, 2 * i) % 8, length = 3 + random_word(5, stream, 2 * i + 1) % 6;
  std::vector<std::size_t> words;
  for (std::size_t w = 0; w < length; ++w) words.push_back((first + w) % 8);
  return words;
}

inline std::string counted_text(std::uint32_t stream, std::uint64_t i) {
  std::string text;
  for (std::size_t word : counted(stream, i)) text += (text.empty() ? "" : " ") + number_words()[word];
  return text;
}

// {train,valid}.{txt,tsv,conll,jsonl,csv}: text; begins low or high; odd numbers are names; what follows a number; how
// large the first number is.
inline void write_toy_labels(const std::filesystem::path& folder, int texts) {
  const auto write = [&](const std::string& name, int count, std::uint32_t stream) {
    std::string text, labels = "label\tsentence\n", tags, answers, numbers = "text,label\n";
    for (int i = 0; i < count; ++i) {
      const auto at = static_cast<std::uint64_t>(i);
      const std::vector<std::size_t> words = counted(stream, at);
      const std::string line = counted_text(stream, at);
      text += line + "\n";
      labels += (words[0] < 4 ? "low\t" : "high\t") + line + "\n";
      for (std::size_t word : words) tags += number_words()[word] + (word % 2 == 0 ? " x I-ODD\n" : " x O\n");
      tags += "\n";
      const std::size_t asked = random_word(6, stream, at) % (words.size() - 1);
      answers += "{\"question\": \"what follows " + number_words()[words[asked]] + "\", \"context\": \"" + line +
                 "\", \"answers\": {\"text\": [\"" + number_words()[words[asked + 1]] + "\"], \"answer_start\": [" +
                 std::to_string(line.find(number_words()[words[asked + 1]])) + "]}}\n";
      numbers += "\"" + line + "\"," + std::to_string(static_cast<double>(words[0]) / 8) + "\n";
    }
    write_file(folder / (name + ".txt"), text);
    write_file(folder / (name + ".tsv"), labels);
    write_file(folder / (name + ".conll"), tags);
    write_file(folder / (name + ".jsonl"), answers);
    write_file(folder / (name + ".csv"), numbers);
  };
  write("train", texts, 0);
  write("valid", 40, 1);
}

// The words of an `attend train` that pre-trains a very small BERT on the texts.
inline std::vector<std::string> toy_masked_training(const std::filesystem::path& folder,
                                                    const std::filesystem::path& out) {
  std::vector<std::string> words = {"train", "--task", "masked-lm", "--out", out.string()};
  const auto add = [&](const std::string& flag, const std::string& value) {
    words.push_back("--" + flag), words.push_back(value);
  };
  add("text", (folder / "train.txt").string()), add("valid-text", (folder / "valid.txt").string());
  add("width", "32"), add("layers", "2"), add("heads", "2"), add("max-length", "48"), add("block", "16");
  add("batch", "16"), add("vocabulary-size", "80"), add("warmup", "20"), add("learning-rate", "0.003");
  add("threads", "1");
  return words;
}

// And of one that tunes a head: files end with `kind` (".tsv").
inline std::vector<std::string> toy_head_training(const std::filesystem::path& folder, const std::string& task,
                                                  const std::string& kind, const std::filesystem::path& from,
                                                  const std::filesystem::path& out) {
  std::vector<std::string> words = {"train", "--task", task, "--from", from.string(), "--out", out.string()};
  const auto add = [&](const std::string& flag, const std::string& value) {
    words.push_back("--" + flag), words.push_back(value);
  };
  add("train", (folder / ("train" + kind)).string()), add("valid", (folder / ("valid" + kind)).string());
  add("batch", "16"), add("learning-rate", "0.001"), add("threads", "1");
  return words;
}

}  // namespace attend::test
