// Small corpora for the tests: a folder that goes away, a tokenizer that makes one token of every character, and lines
// of lengths as translations have them.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/random.h"
#include "attend/data/text/parallel_cache.h"

namespace attend::data::test {

// a is 0, z is 25; space is 26. first_id moves them all.
inline std::string letter_tokenizer(int first_id = 0) {
  std::string vocabulary;
  for (int i = 0; i < 27; ++i)
    vocabulary += std::string(i > 0 ? ", " : "") + "\"" + (i < 26 ? static_cast<char>('a' + i) : ' ') +
                  "\": " + std::to_string(first_id + i);
  return R"({"model": {"type": "BPE", "vocab": {)" + vocabulary + R"(}, "merges": []}})";
}

inline std::vector<std::int32_t> letter_ids(const std::string& line) {
  std::vector<std::int32_t> ids;
  for (const char c : line) ids.push_back(c == ' ' ? 26 : c - 'a');
  return ids;
}

inline std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

struct Draw {
  std::uint64_t seed, at = 0;
  std::uint32_t below(std::uint32_t limit) { return random_word(seed, 99, at++) % limit; }
};

inline std::string random_line(Draw& draw, int length) {
  std::string line(static_cast<std::size_t>(length), 'a');
  for (char& c : line) c = static_cast<char>('a' + draw.below(26));
  return line;
}

// Log-normal lengths with a median of 9 and now and then a long one; targets are a little longer than their sources.
inline std::pair<int, int> random_lengths(Draw& draw) {
  double sum = 0;
  for (int i = 0; i < 12; ++i) sum += to_unit(draw.below(0xffffffffu));
  const double source = 9 * std::exp((sum - 6) * 0.45);
  const double target = source * (0.9 + 0.5 * to_unit(draw.below(0xffffffffu)));
  return {std::clamp(static_cast<int>(std::lround(source)), 1, 90),
          std::clamp(static_cast<int>(std::lround(target)), 1, 90)};
}

class CorpusTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "attend-data-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    write_file(files().tokenizer, letter_tokenizer());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  ParallelFiles files() const {
    return {.source = folder_ / "source",
            .target = folder_ / "target",
            .tokenizer = folder_ / "tokenizer.json",
            .cache = folder_ / "pairs"};
  }

  void write_texts(const std::string& source, const std::string& target) const {
    write_file(files().source, source);
    write_file(files().target, target);
  }

  ParallelCorpus build(const std::string& source, const std::string& target,
                       const ParallelOptions& options = {}) const {
    write_texts(source, target);
    return ParallelCorpus::open_or_build(files(), options);
  }

  ParallelCorpus random_corpus(int pairs, std::uint64_t seed = 5) const {
    Draw draw{seed};
    std::string source, target;
    for (int i = 0; i < pairs; ++i) {
      const auto [from, to] = random_lengths(draw);
      source += random_line(draw, from) + "\n";
      target += random_line(draw, to) + "\n";
    }
    return build(source, target, {.threads = 2});
  }

  std::filesystem::path folder_;
};

}  // namespace attend::data::test
