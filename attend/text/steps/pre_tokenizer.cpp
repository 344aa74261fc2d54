#include "attend/text/steps/pre_tokenizer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "attend/base/unicode/unicode.h"
#include "attend/text/json_view.h"
#include "attend/text/steps/gpt2_words.h"
#include "attend/text/steps/pattern.h"

namespace attend::text {

namespace {

constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

SplitBehavior behavior_of(const JsonView& json) {
  const std::string& name = json.text();
  if (name == "Removed") return SplitBehavior::removed;
  if (name == "Isolated") return SplitBehavior::isolated;
  if (name == "MergedWithPrevious") return SplitBehavior::merged_with_previous;
  if (name == "MergedWithNext") return SplitBehavior::merged_with_next;
  if (name == "Contiguous") return SplitBehavior::contiguous;
  json.complain("is {}, which is not supported", shown(name));
}

void split_gpt2(SplitText& text) {
  const Gpt2Words words;
  std::vector<WordRange> pieces;
  pieces.reserve(text.text.size() / 4 + 1);
  for (const WordRange& range : text.words) {
    const std::string_view word = text.word(range);
    for (std::size_t at = 0; at < word.size();) {
      const std::size_t end = words.end_of_word(word, at);
      pieces.push_back({range.begin + static_cast<std::uint32_t>(at), range.begin + static_cast<std::uint32_t>(end)});
      at = end;
    }
  }
  text.words = std::move(pieces);
}

// Puts prefix in front of a word; it stands for the word's first character.
void put_in_front(std::string_view prefix, std::string& out, std::vector<std::uint32_t>& from) {
  out.append(prefix);
  from.insert(from.end(), prefix.size(), 0);
}

void copy_word(std::string_view word, std::string& out, std::vector<std::uint32_t>& from) {
  out.append(word);
  for (std::uint32_t i = 0; i < word.size(); ++i) from.push_back(i);
}

bool is_punctuation(char32_t c) {
  const bool ascii =
      (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
  return ascii || has_property(c, Property::punctuation);
}

class SequencePreTokenizer : public PreTokenizer {
 public:
  explicit SequencePreTokenizer(const JsonView& json) {
    for (const JsonView& part : json["pretokenizers"].items()) parts_.push_back(make_pre_tokenizer(part));
  }
  void apply(SplitText& text) const override {
    for (const auto& part : parts_) {
      spell_bytes(text);
      part->apply(text);
    }
  }
  bool asks_for_start() const override {
    return std::ranges::any_of(parts_, [](const auto& part) { return part->asks_for_start(); });
  }

 private:
  std::vector<std::unique_ptr<PreTokenizer>> parts_;
};

class ByteLevelPreTokenizer : public PreTokenizer {
 public:
  explicit ByteLevelPreTokenizer(const JsonView& json)
      : add_prefix_space_(json.boolean("add_prefix_space", true)), use_regex_(json.boolean("use_regex", true)) {}

  void apply(SplitText& text) const override {
    if (add_prefix_space_) rewrite_words(text, prefix_space);
    if (use_regex_) split_gpt2(text);
    text.byte_level = true;
  }

 private:
  static void prefix_space(std::string_view word, bool, std::string& out, std::vector<std::uint32_t>& from) {
    if (!word.starts_with(' ')) put_in_front(" ", out, from);
    copy_word(word, out, from);
  }

  bool add_prefix_space_, use_regex_;
};

// \w+ and [^\w\s]+
class Whitespace : public PreTokenizer {
 public:
  void apply(SplitText& text) const override { split_words(text, find, SplitBehavior::removed); }

 private:
  static void find(std::string_view word, std::vector<Match>& matches) {
    std::uint8_t kind = 0;
    for (std::size_t at = 0; at < word.size();) {
      const auto begin = static_cast<std::uint32_t>(at);
      const char32_t c = next_character(word, at);
      const std::uint8_t next = has_property(c, Property::word) ? 1 : has_property(c, Property::white_space) ? 2 : 3;
      if (next == kind) {
        matches.back().end = static_cast<std::uint32_t>(at);
      } else {
        matches.push_back({begin, static_cast<std::uint32_t>(at), next == 2});
      }
      kind = next;
    }
  }
};

class MetaspacePreTokenizer : public PreTokenizer {
 public:
  explicit MetaspacePreTokenizer(const JsonView& json)
      : replacement_(json.text("replacement", "▁")), split_(json.boolean("split", true)) {
    if (count_characters(replacement_) != 1) json["replacement"].complain("must be one character");
    scheme_ = json.text("prepend_scheme", json.boolean("add_prefix_space", true) ? "always" : "never");
    if (scheme_ != "always" && scheme_ != "first" && scheme_ != "never")
      json["prepend_scheme"].complain("is {}, which is not supported", shown(scheme_));
  }

  void apply(SplitText& text) const override {
    rewrite_words(text, [this](std::string_view word, bool first, std::string& out, std::vector<std::uint32_t>& from) {
      const bool starts = word.starts_with(' ') || word.starts_with(replacement_);
      if (!starts && (scheme_ == "always" || (scheme_ == "first" && first))) put_in_front(replacement_, out, from);
      for (std::uint32_t i = 0; i < word.size(); ++i) {
        if (word[i] == ' ') {
          out.append(replacement_);
          from.insert(from.end(), replacement_.size(), i);
        } else {
          out.push_back(word[i]);
          from.push_back(i);
        }
      }
    });
    if (!split_) return;
    std::size_t zero = 0;
    const char32_t character = next_character(replacement_, zero);
    split_words(text, match_characters([character](char32_t c) { return c == character; }),
                SplitBehavior::merged_with_next);
  }
  bool asks_for_start() const override { return scheme_ == "first"; }

 private:
  std::string replacement_, scheme_;
  bool split_;
};

// By a test of single characters: white space, digits, punctuation.
class CharacterSplit : public PreTokenizer {
 public:
  CharacterSplit(std::function<bool(char32_t)> test, SplitBehavior behavior)
      : CharacterSplit(match_characters(std::move(test)), behavior) {}
  CharacterSplit(MatchFinder find, SplitBehavior behavior) : find_(std::move(find)), behavior_(behavior) {}
  void apply(SplitText& text) const override { split_words(text, find_, behavior_); }

 private:
  MatchFinder find_;
  SplitBehavior behavior_;
};

// By a string or a pattern. GPT-2's own is known, and an order of magnitude quicker.
class Split : public PreTokenizer {
 public:
  explicit Split(const JsonView& json)
      : behavior_(behavior_of(json["behavior"])), invert_(json.boolean("invert", false)) {
    const JsonView pattern = json["pattern"];
    if (const auto regex = pattern.find("Regex")) {
      const bool keeps = invert_ ? behavior_ == SplitBehavior::removed : behavior_ == SplitBehavior::isolated;
      gpt2_ = regex->text() == kGpt2Pattern && keeps;
      if (!gpt2_) regex_.emplace(read_pattern(*regex));
    } else {
      pattern_ = pattern["String"].text();
      if (pattern_.empty()) pattern.complain("is empty");
      if (pattern_.size() > limits::kLongestFixedPattern)
        pattern["String"].complain("is longer than {} bytes (kLongestFixedPattern in attend/base/limits.h)",
                                   limits::kLongestFixedPattern);
    }
  }

  void apply(SplitText& text) const override {
    if (gpt2_) return split_gpt2(text);
    TextBudget own(text.text.size());
    std::uint64_t& steps = text.budget ? text.budget->steps : own.steps;
    split_words(
        text, [&](std::string_view word, std::vector<Match>& matches) { find(word, steps, matches); }, behavior_);
  }

 private:
  void find(std::string_view word, std::uint64_t& steps, std::vector<Match>& matches) const {
    const auto add = [&](std::size_t begin, std::size_t end, bool matched) {
      if (begin < end)
        matches.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), matched != invert_});
    };
    std::size_t at = 0;
    if (regex_) {
      for (const auto& [begin, end] : regex_->find_all(word, steps)) {
        add(at, begin, false);
        add(begin, end, true);
        at = end;
      }
      return add(at, word.size(), false);
    }
    for (std::size_t found; (found = word.find(pattern_, at)) != word.npos; at = found + pattern_.size()) {
      add(at, found, false);
      add(found, found + pattern_.size(), true);
    }
    add(at, word.size(), false);
  }

  SplitBehavior behavior_;
  bool invert_, gpt2_ = false;
  std::string pattern_;
  std::optional<Pattern> regex_;
};

// White space is dropped and each punctuation mark is a word.
class BertPreTokenizer : public PreTokenizer {
 public:
  void apply(SplitText& text) const override {
    std::vector<WordRange> words;
    words.reserve(text.text.size() / 4 + 1);
    for (const WordRange& range : text.words) {
      std::uint32_t begin = range.begin;
      std::size_t at = range.begin;
      const auto flush = [&](std::size_t end) {
        if (begin < end) words.push_back({begin, static_cast<std::uint32_t>(end)});
      };
      while (at < range.end) {
        const std::size_t here = at;
        const char32_t c = next(text.text, at);
        const bool space = has_property(c, Property::white_space);
        if (!space && !is_punctuation(c)) continue;
        flush(here);
        begin = static_cast<std::uint32_t>(space ? at : here);
        if (!space) flush(at);
        begin = static_cast<std::uint32_t>(at);
      }
      flush(range.end);
    }
    text.words = std::move(words);
  }

 private:
  static char32_t next(std::string_view text, std::size_t& at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    return byte < 0x80 ? text[at++] : next_character(text, at);
  }
};

// So many characters per word.
class FixedLength : public PreTokenizer {
 public:
  explicit FixedLength(const JsonView& json) {
    if (const auto length = json.find("length")) length_ = length->integer(1, kLargestTokenId);
  }
  void apply(SplitText& text) const override {
    split_words(
        text, [this](std::string_view word, std::vector<Match>& matches) { find(word, matches); },
        SplitBehavior::isolated);
  }

 private:
  void find(std::string_view word, std::vector<Match>& matches) const {
    std::int64_t characters = 0;
    for (std::size_t at = 0; at < word.size(); ++characters) {
      const auto begin = static_cast<std::uint32_t>(at);
      next_character(word, at);
      if (characters % length_ == 0) matches.push_back({begin, begin, true});
      matches.back().end = static_cast<std::uint32_t>(at);
    }
  }

  std::int64_t length_ = 5;
};

MatchFinder match_delimiter(const JsonView& json) {
  const std::u32string delimiter = to_characters(json.text());
  if (delimiter.size() != 1) json.complain("must be one character");
  return match_characters([c = delimiter[0]](char32_t other) { return c == other; });
}

}  // namespace

std::unique_ptr<PreTokenizer> make_pre_tokenizer(const JsonView& json) {
  const JsonView type = json["type"];
  const std::string& name = type.text();
  if (name == "Sequence") return std::make_unique<SequencePreTokenizer>(json);
  if (name == "ByteLevel") return std::make_unique<ByteLevelPreTokenizer>(json);
  if (name == "Whitespace") return std::make_unique<Whitespace>();
  if (name == "WhitespaceSplit")
    return std::make_unique<CharacterSplit>([](char32_t c) { return has_property(c, Property::white_space); },
                                            SplitBehavior::removed);
  if (name == "BertPreTokenizer") return std::make_unique<BertPreTokenizer>();
  if (name == "FixedLength") return std::make_unique<FixedLength>(json);
  if (name == "CharDelimiterSplit")
    return std::make_unique<CharacterSplit>(match_delimiter(json["delimiter"]), SplitBehavior::removed);
  if (name == "Metaspace") return std::make_unique<MetaspacePreTokenizer>(json);
  if (name == "Digits")
    return std::make_unique<CharacterSplit>(
        [](char32_t c) { return has_property(c, Property::number); },
        json.boolean("individual_digits", false) ? SplitBehavior::isolated : SplitBehavior::contiguous);
  if (name == "Punctuation")
    return std::make_unique<CharacterSplit>(
        is_punctuation, json.find("behavior") ? behavior_of(json["behavior"]) : SplitBehavior::isolated);
  if (name == "Split") return std::make_unique<Split>(json);
  type.complain("is {}, which is not supported", shown(name));
}

}  // namespace attend::text
