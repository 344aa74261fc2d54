// Training a vocabulary: against the same algorithm written the slow way, and its promises: any number of threads,
// compressed files, bad lines.
#include "attend/text/learn/bpe_trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/limits.h"
#include "attend/text/steps/byte_level.h"
#include "attend/text/steps/gpt2_words.h"
#include "attend/text/tokenizer.h"
#include "tests/text/random_text.h"

namespace attend {
namespace {

using Pair = std::pair<text::TokenId, text::TokenId>;

// Hugging Face's algorithm with plain containers: entries of (count, pair, words), looked through one by one.
struct SlowTrainer {
  struct Entry {
    std::int64_t count;
    Pair pair;
    std::set<std::size_t> words;
  };
  std::vector<std::vector<text::TokenId>> words;
  std::vector<std::int64_t> counts;
  std::map<Pair, std::int64_t> pair_counts;
  std::map<Pair, std::set<std::size_t>> fresh;
  std::vector<Entry> queue;
  std::vector<std::string> tokens;
  std::map<std::string, text::TokenId> ids;

  text::TokenId id_of(const std::string& token) {
    const auto [found, made] = ids.try_emplace(token, static_cast<text::TokenId>(tokens.size()));
    if (made) tokens.push_back(token);
    return found->second;
  }

  void change(Pair pair, std::int64_t count, std::size_t word) {
    pair_counts[pair] += count;
    if (count > 0) fresh[pair].insert(word);
  }

  void enqueue() {
    for (const auto& [pair, places] : fresh)
      if (pair_counts[pair] > 0) queue.push_back({pair_counts[pair], pair, places});
    fresh.clear();
  }

  std::optional<Entry> pop() {
    while (!queue.empty()) {
      std::size_t best = 0;
      for (std::size_t i = 1; i < queue.size(); ++i)
        if (queue[i].count > queue[best].count ||
            (queue[i].count == queue[best].count && queue[i].pair < queue[best].pair))
          best = i;
      if (queue[best].count == pair_counts[queue[best].pair]) {
        Entry entry = queue[best];
        queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(best));
        return entry;
      }
      queue[best].count = pair_counts[queue[best].pair];
    }
    return std::nullopt;
  }

  void join(const Entry& entry, text::TokenId joined) {
    for (const std::size_t w : entry.words) {
      std::vector<text::TokenId>& word = words[w];
      for (std::size_t i = 0; i + 1 < word.size(); ++i) {
        if (Pair(word[i], word[i + 1]) != entry.pair) continue;
        if (i > 0) change({word[i - 1], word[i]}, -counts[w], w), change({word[i - 1], joined}, counts[w], w);
        const text::TokenId second = word[i + 1];
        word[i] = joined;
        word.erase(word.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        if (i + 1 < word.size())
          change({second, word[i + 1]}, -counts[w], w), change({joined, word[i + 1]}, counts[w], w);
      }
    }
    enqueue();
  }

  text::TrainedBpe train(const std::vector<std::string>& lines, std::size_t size, std::int64_t min_frequency) {
    std::map<char32_t, int> alphabet;
    for (int byte = 0; byte < 256; ++byte) alphabet[text::kByteCharacters[static_cast<std::size_t>(byte)]] = byte;
    for (const auto& [character, byte] : alphabet)
      id_of(text::to_byte_characters(std::string(1, static_cast<char>(byte))));
    std::map<std::string, std::int64_t> found;
    for (const std::string& line : lines)
      for (std::size_t at = 0, end; at < line.size(); at = end) {
        end = text::Gpt2Words().end_of_word(line, at);
        ++found[line.substr(at, end - at)];
      }
    for (const auto& [text, count] : found) {
      words.emplace_back();
      counts.push_back(count);
      for (char byte : text) words.back().push_back(id_of(text::to_byte_characters(std::string(1, byte))));
      for (std::size_t i = 0; i + 1 < words.back().size(); ++i)
        change({words.back()[i], words.back()[i + 1]}, count, words.size() - 1);
    }
    enqueue();
    std::vector<Pair> merges;
    while (tokens.size() < size) {
      const auto best = pop();
      if (!best || best->count < 1 || best->count < min_frequency) break;
      const std::string text =
          tokens[static_cast<std::size_t>(best->pair.first)] + tokens[static_cast<std::size_t>(best->pair.second)];
      std::erase(merges, best->pair);  // the later rank counts
      merges.push_back(best->pair);
      join(*best, id_of(text));
    }
    return {.tokens = tokens, .merges = merges};
  }
};

TEST(BpeTrainer, AgreesWithTheSlowAlgorithm) {
  std::vector<std::vector<std::string>> corpora = {
      {"low low low low low lower lower newest newest newest newest newest newest widest widest widest"},
      {"aaaa aaaaaaa aa aaaaa aaa aaaaaaaaaaaaaa aaaaaaaaa", "abababab bababa aabbaabb abaab ababa"},
      {}};
  for (std::uint32_t i = 0; i < 40; ++i) {  // few letters, so that many tokens can be made in several ways
    std::string line;
    for (std::uint32_t at = 0; at < 60; ++at) line += "aab abc "[random_word(3, i, at) % 8];
    corpora.back().push_back(line);
  }
  corpora.emplace_back();
  for (std::uint32_t i = 0; i < 30; ++i) corpora.back().push_back(test::random_text(i % 20, 30));
  for (const auto& lines : corpora) {
    for (const std::uint64_t min_frequency : {1, 2}) {
      text::BpeTrainer trainer({.vocabulary_size = 400, .min_frequency = min_frequency, .special_tokens = {}});
      for (const std::string& line : lines) {
        if (line.find('\n') != line.npos || line.ends_with('\r')) continue;
        trainer.add_text(line + "\n");
      }
      std::vector<std::string> kept;
      for (const std::string& line : lines)
        if (line.find('\n') == line.npos && !line.ends_with('\r')) kept.push_back(line);
      const text::TrainedBpe fast = trainer.train();
      const text::TrainedBpe slow = SlowTrainer().train(kept, 400, static_cast<std::int64_t>(min_frequency));
      EXPECT_EQ(fast.tokens, slow.tokens);
      EXPECT_EQ(fast.merges, slow.merges);
    }
  }
}

std::string some_text() {
  std::string text;
  for (std::uint32_t i = 0; i < 4000; ++i) {
    for (std::uint32_t at = 0; at < 12; ++at) {
      // Words of a small language, the short ones frequent.
      const std::uint32_t number = random_word(5, i, at) % 1000 * (random_word(6, i, at) % 1000) / 1000;
      for (std::uint32_t n = number + 20; n > 0; n /= 5) text += "aeirsnt ldu"[(n * 7 + at % 2) % 11];
      text += ' ';
    }
    text += '\n';
  }
  return text;
}

TEST(BpeTrainer, AnyNumberOfThreadsGivesTheSameFile) {
  std::string text = some_text();
  while (text.size() < (5u << 20)) text += text;  // several pieces
  std::string first;
  for (const int threads : {1, 2, 5}) {
    text::BpeTrainer trainer({.vocabulary_size = 600, .threads = threads});
    trainer.add_text(text);
    const std::string json = text::to_tokenizer_json(trainer.train());
    if (first.empty()) first = json;
    EXPECT_EQ(json, first) << threads << " threads";
  }
}

TEST(BpeTrainer, SpecialTokensAndBytesComeFirst) {
  text::BpeTrainer trainer({.vocabulary_size = 300, .special_tokens = {"<pad>", "</s>"}});
  trainer.add_text(some_text());
  const text::TrainedBpe trained = trainer.train();
  ASSERT_EQ(trained.tokens.size(), 300u);
  EXPECT_EQ(trained.tokens[0], "<pad>");
  EXPECT_EQ(trained.tokens[1], "</s>");
  EXPECT_EQ(trained.tokens[2], "!");
  EXPECT_EQ(trained.tokens[257], "Ń");
  const text::Tokenizer tokenizer = text::Tokenizer::parse(text::to_tokenizer_json(trained), "trained");
  EXPECT_EQ(tokenizer.vocabulary_size(), 300u);
  EXPECT_EQ(tokenizer.id_limit(), 300);
  for (text::TokenId id = 0; id < 300; ++id) {
    EXPECT_EQ(tokenizer.id_to_token(id), trained.tokens[static_cast<std::size_t>(id)]);
    EXPECT_EQ(tokenizer.token_to_id(trained.tokens[static_cast<std::size_t>(id)]), id);
  }
}

TEST(BpeTrainer, SingleDigitsAreNeverJoined) {
  const std::string lines = "in 1987 and 1987 x19 ½½ ½½\nin 1987 and 1987 x19 ½½ ½½\n";
  for (const bool single : {false, true}) {
    text::BpeTrainer trainer({.vocabulary_size = 320, .words = {.single_digits = single}});
    trainer.add_text(lines);
    bool words = false, digits = false;
    for (const std::string& token : trainer.train().tokens) {
      const bool digit = token.size() > 1 && std::ranges::any_of(token, [](char c) { return c >= '0' && c <= '9'; });
      digits |= digit, words |= token == "and" || token == "\u0120and";
    }
    EXPECT_TRUE(words);
    EXPECT_EQ(digits, !single);
  }
}

// A file that is not text, or a line of one letter: tokens stay so short that a tokenizer takes them.
TEST(BpeTrainer, LearnsNoTokenThatIsTooLong) {
  text::BpeTrainer trainer({.vocabulary_size = 400});
  trainer.add_text("the cat and the dog\n" + std::string(100'000, 'x') + "\n");
  const text::TrainedBpe trained = trainer.train();
  std::size_t longest = 0;
  for (const std::string& token : trained.tokens) longest = std::max(longest, token.size());
  EXPECT_LE(longest, limits::kLongestToken);
  EXPECT_GE(longest, 512u);
  const text::Tokenizer tokenizer = text::Tokenizer::parse(text::to_tokenizer_json(trained), "trained");
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("the xxx").ids), "the xxx");
}

TEST(BpeTrainer, CountsLinesThatAreNotUtf8) {
  text::BpeTrainer trainer({.vocabulary_size = 270});
  trainer.add_text("good good\nbad \xFF\nalso bad \xC3\ngood\r\nno line feed");
  EXPECT_EQ(trainer.lines(), 5u);
  EXPECT_EQ(trainer.invalid_lines(), 2u);
  for (const std::string& token : trainer.train().tokens) EXPECT_EQ(token.find("ba"), std::string::npos) << token;
}

TEST(BpeTrainer, RefusesWhatCannotBe) {
  EXPECT_THROW(text::BpeTrainer({.vocabulary_size = 200}), Error);
  EXPECT_THROW(text::BpeTrainer({.special_tokens = {"a", "a"}}), Error);
  EXPECT_THROW(text::BpeTrainer({.special_tokens = {""}}), Error);
  EXPECT_THROW(text::BpeTrainer({}).add_file("no such file"), Error);
}

TEST(BpeTrainer, ReadsCompressedFiles) {
  namespace fs = std::filesystem;
  if (std::system("gzip --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "there is no gzip";
  const fs::path folder = fs::temp_directory_path() / ("attend_gz_" + std::to_string(std::rand()));
  const std::string text = some_text();
  write_file(folder / "plain", text);
  write_file(folder / "a", text.substr(0, 100000));
  write_file(folder / "b", text.substr(100000));
  const std::string command =
      "cd " + folder.string() + " && gzip a b && cat a.gz b.gz > both.gz && head -c 5000 b.gz > cut.gz";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const auto train = [](const fs::path& path) {
    text::BpeTrainer trainer({.vocabulary_size = 500});
    trainer.add_file(path);
    return text::to_tokenizer_json(trainer.train());
  };
  try {
    EXPECT_EQ(train(folder / "both.gz"), train(folder / "plain"));
    EXPECT_THROW(train(folder / "cut.gz"), Error);
  } catch (const Error& error) {
    // A build without zlib says so.
    EXPECT_NE(std::string(error.what()).find("no zlib"), std::string::npos) << error.what();
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace attend
