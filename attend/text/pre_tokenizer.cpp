#include "attend/text/pre_tokenizer.h"

#include <utility>

#include "attend/base/unicode.h"
#include "attend/text/gpt2_words.h"
#include "attend/text/json_view.h"

namespace attend {

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

class Sequence : public PreTokenizer {
 public:
  explicit Sequence(const JsonView& json) {
    for (const JsonView& part : json["pretokenizers"].items()) parts_.push_back(make_pre_tokenizer(part));
  }
  void apply(SplitText& text) const override {
    for (const auto& part : parts_) {
      spell_bytes(text);
      part->apply(text);
    }
  }

 private:
  std::vector<std::unique_ptr<PreTokenizer>> parts_;
};

class ByteLevel : public PreTokenizer {
 public:
  explicit ByteLevel(const JsonView& json)
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

class Metaspace : public PreTokenizer {
 public:
  explicit Metaspace(const JsonView& json)
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

 private:
  std::string replacement_, scheme_;
  bool split_;
};

// By a test of single characters: white space, digits, punctuation.
class CharacterSplit : public PreTokenizer {
 public:
  CharacterSplit(std::function<bool(char32_t)> test, SplitBehavior behavior)
      : find_(match_characters(std::move(test))), behavior_(behavior) {}
  void apply(SplitText& text) const override { split_words(text, find_, behavior_); }

 private:
  MatchFinder find_;
  SplitBehavior behavior_;
};

// By a string, or by GPT-2's pattern, which is known here without an engine for patterns.
class Split : public PreTokenizer {
 public:
  explicit Split(const JsonView& json)
      : behavior_(behavior_of(json["behavior"])), invert_(json.boolean("invert", false)) {
    const JsonView pattern = json["pattern"];
    if (const auto regex = pattern.find("Regex")) {
      gpt2_ = regex->text() == kGpt2Pattern && behavior_ != SplitBehavior::contiguous;
      const bool keeps = invert_ ? behavior_ == SplitBehavior::removed : behavior_ == SplitBehavior::isolated;
      if (!gpt2_ || !keeps) regex->complain("is not supported: only String patterns and GPT-2's are");
    } else {
      pattern_ = pattern["String"].text();
      if (pattern_.empty()) pattern.complain("is empty");
    }
  }

  void apply(SplitText& text) const override {
    if (gpt2_) return split_gpt2(text);
    split_words(
        text, [this](std::string_view word, std::vector<Match>& matches) { find(word, matches); }, behavior_);
  }

 private:
  void find(std::string_view word, std::vector<Match>& matches) const {
    const auto add = [&](std::size_t begin, std::size_t end, bool matched) {
      if (begin < end)
        matches.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), matched != invert_});
    };
    std::size_t at = 0;
    for (std::size_t found; (found = word.find(pattern_, at)) != word.npos; at = found + pattern_.size()) {
      add(at, found, false);
      add(found, found + pattern_.size(), true);
    }
    add(at, word.size(), false);
  }

  SplitBehavior behavior_;
  bool invert_, gpt2_ = false;
  std::string pattern_;
};

bool is_punctuation(char32_t c) {
  const bool ascii =
      (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
  return ascii || has_property(c, Property::punctuation);
}

}  // namespace

std::unique_ptr<PreTokenizer> make_pre_tokenizer(const JsonView& json) {
  const JsonView type = json["type"];
  const std::string& name = type.text();
  if (name == "Sequence") return std::make_unique<Sequence>(json);
  if (name == "ByteLevel") return std::make_unique<ByteLevel>(json);
  if (name == "Whitespace") return std::make_unique<Whitespace>();
  if (name == "WhitespaceSplit")
    return std::make_unique<CharacterSplit>([](char32_t c) { return has_property(c, Property::white_space); },
                                            SplitBehavior::removed);
  if (name == "Metaspace") return std::make_unique<Metaspace>(json);
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

}  // namespace attend
