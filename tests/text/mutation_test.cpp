// Tokenizer files broken in thousands of ways, the same ones every time: each is refused with an Error or works. Run
// with the address sanitizer, this is the test that nothing reads where it should not.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/base/random.h"
#include "attend/text/tokenizer.h"
#include "tests/text/random_text.h"

namespace attend {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolder = "tests/fixtures/data/text/";

// Numbers from a seed, one after the other.
class Dice {
 public:
  explicit Dice(std::uint32_t seed) : seed_(seed) {}
  std::uint32_t roll(std::size_t sides) {
    return random_word(23, seed_, at_++) % static_cast<std::uint32_t>(std::max<std::size_t>(sides, 1));
  }

 private:
  std::uint32_t seed_;
  std::uint64_t at_ = 0;
};

// A tokenizer that came to be must encode and decode whatever there is, or say why not.
void use(const text::Tokenizer& tokenizer, std::uint32_t seed) {
  const std::string text = test::random_text(seed, 40) + " <s> the people's reading, \u00e9\ufb01 \u4f60";
  try {
    const text::Encoding encoding = tokenizer.encode(text);
    EXPECT_EQ(encoding.tokens.size(), encoding.ids.size());
    EXPECT_EQ(encoding.offsets.size(), encoding.ids.size());
    EXPECT_EQ(tokenizer.encode_ids(text), encoding.ids);
    tokenizer.decode(encoding.ids);
    tokenizer.encode_pair(text, "b");
    tokenizer.decode(std::vector<text::TokenId>{0, 5, 1000000, -1, 2}, {.skip_special_tokens = false});
  } catch (const Error&) {
  }
}

void break_bytes(std::string& bytes, Dice& dice) {
  if (bytes.empty()) return;
  for (std::uint32_t i = 0, times = 1 + dice.roll(4); i < times && !bytes.empty(); ++i) {
    const std::size_t at = dice.roll(bytes.size()), length = std::min<std::size_t>(dice.roll(64), bytes.size() - at);
    switch (dice.roll(6)) {
      case 0:
        bytes[at] = static_cast<char>(dice.roll(256));
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << dice.roll(8)));
        break;
      case 2:
        bytes.resize(at);
        break;
      case 3:
        bytes.erase(at, length);
        break;
      case 4:
        bytes.insert(at, bytes.substr(dice.roll(bytes.size()), length));
        break;
      default:
        bytes.replace(at, std::min<std::size_t>(4, bytes.size() - at), "\xff\xff\xff\xff");
        break;
    }
  }
}

TEST(MutatedTokenizer, SentencePieceFiles) {
  for (const char* name : {"spm_unigram.model", "spm_bpe.model"}) {
    const std::string whole = read_file(std::string(kFolder) + name);
    int refused = 0;
    for (std::uint32_t seed = 0; seed < 150; ++seed) {
      SCOPED_TRACE(seed);
      Dice dice(seed);
      std::string bytes = whole;
      // Most of the file is pieces and rules: the settings at its end and the lengths at its start need aim.
      if (seed % 3 == 0) {
        std::string end = bytes.substr(bytes.size() - std::min<std::size_t>(bytes.size(), 400));
        bytes.resize(bytes.size() - end.size());
        break_bytes(end, dice);
        bytes += end;
      } else {
        break_bytes(bytes, dice);
      }
      try {
        use(text::Tokenizer::parse_sentencepiece(bytes, "x.model"), seed);
      } catch (const Error& error) {
        ++refused;
        EXPECT_EQ(std::string(error.what()).find("x.model: "), 0u) << error.what();
      }
    }
    EXPECT_GT(refused, 10) << name;
  }
}

// A value of the tree, any of them as likely; objects of the vocabulary are entered less often.
Json* pick(Json& root, Dice& dice) {
  Json* at = &root;
  while (!at->empty()) {
    if (at != &root && dice.roll(4) == 0) break;
    auto it = at->begin();
    std::advance(it, dice.roll(std::min<std::size_t>(at->size(), 50)));
    at = &*it;
  }
  return at;
}

Json hostile_value(Json& root, Dice& dice) {
  switch (dice.roll(14)) {
    case 0:
      return nullptr;
    case 1:
      return -1;
    case 2:
      return 0;
    case 3:
      return 2147483647;
    case 4:
      return 18446744073709551615u;
    case 5:
      return 1e308;
    case 6:
      return "";
    case 7:
      return std::string(5000, 'a');
    case 8:
      return Json::array();
    case 9:
      return Json::object();
    case 10:
      return true;
    case 11:
      return "\u2581";
    case 12:
      return 0.5;
    default:
      return *pick(root, dice);
  }
}

TEST(MutatedTokenizer, TokenizerJson) {
  for (const char* name :
       {"bytelevel_bpe_roberta", "classic_bpe", "llama_style_bpe", "unigram_metaspace", "wordpiece_cased"}) {
    const std::string text = read_file(std::string(kFolder) + name + ".tokenizer.json");
    const auto whole = Json::parse(text);
    int refused = 0;
    for (std::uint32_t seed = 0; seed < 120; ++seed) {
      SCOPED_TRACE(std::string(name) + " " + std::to_string(seed));
      Dice dice(seed);
      std::string bytes = text;
      if (seed % 4 == 0) {
        break_bytes(bytes, dice);
      } else {
        Json json = whole;
        for (std::uint32_t i = 0; i <= dice.roll(2); ++i) {
          const Json value = hostile_value(json, dice);
          *pick(json, dice) = value;
        }
        bytes = json.dump();
      }
      try {
        use(text::Tokenizer::parse(bytes, "x.json"), seed);
      } catch (const Error& error) {
        ++refused;
        EXPECT_EQ(std::string(error.what()).find("x.json"), 0u) << error.what();
      }
    }
    EXPECT_GT(refused, 10) << name;
  }
}

// Rules that multiply the text must not fill the memory.
TEST(MutatedTokenizer, ReplacementsThatMultiplyAreStopped) {
  std::string rules;
  for (int i = 0; i < 8; ++i)
    rules += std::string(i ? "," : "") + R"({"type": "Replace", "pattern": {"String": "a"}, "content": ")" +
             std::string(1000, 'a') + "\"}";
  const std::string model = R"("model": {"type": "BPE", "vocab": {"a": 0}, "merges": []})";
  const auto normalized = text::Tokenizer::parse(
      R"({"normalizer": {"type": "Sequence", "normalizers": [)" + rules + "]}, " + model + "}", "x");
  EXPECT_THROW(normalized.encode_ids("aaaa"), Error);
  EXPECT_THROW(normalized.encode("aaaa"), Error);
  const auto decoded =
      text::Tokenizer::parse(R"({"decoder": {"type": "Sequence", "decoders": [)" + rules + "]}, " + model + "}", "x");
  EXPECT_THROW(decoded.decode(std::vector<text::TokenId>{0, 0}), Error);
}

}  // namespace
}  // namespace attend
