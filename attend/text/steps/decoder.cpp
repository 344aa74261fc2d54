#include "attend/text/steps/decoder.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "attend/base/unicode/unicode.h"
#include "attend/text/aligned_text.h"
#include "attend/text/json_view.h"
#include "attend/text/steps/byte_level.h"
#include "attend/text/steps/pattern.h"
#include "attend/text/text_budget.h"

namespace attend::text {

namespace {

// `made` is how much has been written of `before` bytes, with other texts: it may not grow beyond all measure.
struct Growth {
  std::size_t before = 0, made = 0;
  void add(std::size_t bytes) { check_growth(made += bytes, before); }
};

void replace_all(std::string& text, std::string_view pattern, std::string_view content, Growth& growth) {
  std::size_t at = pattern.empty() ? text.npos : text.find(pattern);
  if (at == text.npos) return;
  std::string out;
  std::size_t done = 0;
  for (; at != text.npos; at = text.find(pattern, done)) {
    out.append(text, done, at - done).append(content);
    growth.add(content.size());
    done = at + pattern.size();
  }
  text = out.append(text, done);
}

// For content that is no longer than the pattern.
void replace_all(std::string& text, std::string_view pattern, std::string_view content) {
  Growth growth{text.size()};
  replace_all(text, pattern, content, growth);
}

std::size_t size_of(const std::vector<std::string>& tokens) {
  std::size_t bytes = 0;
  for (const std::string& token : tokens) bytes += token.size();
  return bytes;
}

class SequenceDecoder : public Decoder {
 public:
  explicit SequenceDecoder(const JsonView& json) {
    for (const JsonView& part : json["decoders"].items()) parts_.push_back(make_decoder(part));
  }
  std::vector<std::string> apply(std::vector<std::string> tokens) const override {
    const std::size_t before = size_of(tokens);
    for (const auto& part : parts_) {
      tokens = part->apply(std::move(tokens));
      check_growth(size_of(tokens), before);
    }
    return tokens;
  }

 private:
  std::vector<std::unique_ptr<Decoder>> parts_;
};

class ByteLevelDecoder : public Decoder {
 public:
  std::vector<std::string> apply(std::vector<std::string> tokens) const override {
    std::string bytes;
    for (const std::string& token : tokens) bytes += from_byte_characters(token).value_or(token);
    return {find_invalid_utf8(bytes) ? replace_invalid_utf8(bytes) : std::move(bytes)};
  }
};

class MetaspaceDecoder : public Decoder {
 public:
  explicit MetaspaceDecoder(const JsonView& json) : replacement_(json.text("replacement", "▁")) {
    keeps_first_ = json.text("prepend_scheme", json.boolean("add_prefix_space", true) ? "always" : "never") == "never";
  }
  std::vector<std::string> apply(std::vector<std::string> tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i)
      replace_all(tokens[i], replacement_, i == 0 && !keeps_first_ ? "" : " ");
    return tokens;
  }

 private:
  std::string replacement_;
  bool keeps_first_;
};

// What WordPiece and CTC call cleaning up: English as it is written.
void clean_up(std::string& text) {
  constexpr std::pair<std::string_view, std::string_view> kRules[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [pattern, content] : kRules) replace_all(text, pattern, content);
}

class WordPieceDecoder : public Decoder {
 public:
  explicit WordPieceDecoder(const JsonView& json)
      : prefix_(json.text("prefix", "##")), cleans_(json.boolean("cleanup", true)) {}
  std::vector<std::string> apply(std::vector<std::string> tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (i > 0 && tokens[i].starts_with(prefix_)) {
        tokens[i].erase(0, prefix_.size());
      } else if (i > 0) {
        tokens[i].insert(0, " ");
      }
      if (cleans_) clean_up(tokens[i]);
    }
    return tokens;
  }

 private:
  std::string prefix_;
  bool cleans_;
};

// Connectionist temporal classification: repeated tokens count once, padding not at all.
class CtcDecoder : public Decoder {
 public:
  explicit CtcDecoder(const JsonView& json)
      : padding_(json.text("pad_token", "<pad>")),
        delimiter_(json.text("word_delimiter_token", "|")),
        cleans_(json.boolean("cleanup", true)) {}
  std::vector<std::string> apply(std::vector<std::string> tokens) const override {
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    for (std::string& token : tokens) {
      replace_all(token, padding_, "");
      if (cleans_) clean_up(token), replace_all(token, delimiter_, " ");
    }
    std::erase(tokens, "");
    return tokens;
  }

 private:
  std::string padding_, delimiter_;
  bool cleans_;
};

// Joins the tokens of classic BPE, whose words end in a suffix.
class BpeDecoder : public Decoder {
 public:
  explicit BpeDecoder(const JsonView& json) : suffix_(json.text("suffix", "</w>")) {}
  std::vector<std::string> apply(std::vector<std::string> tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) replace_all(tokens[i], suffix_, i + 1 == tokens.size() ? "" : " ");
    return tokens;
  }

 private:
  std::string suffix_;
};

// <0x41> is the byte 0x41. Bytes in a row that are not UTF-8 together become one replacement character each.
class ByteFallback : public Decoder {
 public:
  std::vector<std::string> apply(std::vector<std::string> tokens) const override {
    std::vector<std::string> out;
    std::string bytes;
    const auto flush = [&] {
      if (bytes.empty()) return;
      if (find_invalid_utf8(bytes)) {
        out.insert(out.end(), bytes.size(), "\uFFFD");
      } else {
        out.push_back(bytes);
      }
      bytes.clear();
    };
    for (std::string& token : tokens) {
      if (const auto byte = fallback_byte(token)) {
        bytes.push_back(*byte);
        continue;
      }
      flush();
      out.push_back(std::move(token));
    }
    flush();
    return out;
  }
};

class Fuse : public Decoder {
 public:
  std::vector<std::string> apply(std::vector<std::string> tokens) const override {
    std::string all;
    for (const std::string& token : tokens) all += token;
    return {std::move(all)};
  }
};

class ReplaceDecoder : public Decoder {
 public:
  explicit ReplaceDecoder(const JsonView& json) : content_(json["content"].text()) {
    const JsonView pattern = json["pattern"];
    if (const auto regex = pattern.find("Regex")) {
      regex_.emplace(read_pattern(*regex));
    } else {
      pattern_ = pattern["String"].text();
      if (pattern_.size() > limits::kLongestFixedPattern)
        pattern["String"].complain("is longer than {} bytes (kLongestFixedPattern in attend/base/limits.h)",
                                   limits::kLongestFixedPattern);
    }
  }
  std::vector<std::string> apply(std::vector<std::string> tokens) const override {
    Growth growth{size_of(tokens)};
    TextBudget budget(growth.before);
    for (std::string& token : tokens) {
      if (!regex_) {
        replace_all(token, pattern_, content_, growth);
        continue;
      }
      std::string out;
      std::size_t at = 0;
      for (const auto& [begin, end] : regex_->find_all(token, budget.steps)) {
        out.append(token, at, begin - at).append(content_);
        growth.add(content_.size());
        at = end;
      }
      token = out.append(token, at);
    }
    return tokens;
  }

 private:
  std::string pattern_, content_;
  std::optional<Pattern> regex_;
};

// Takes up to so many of a character from each end of every token.
class StripDecoder : public Decoder {
 public:
  explicit StripDecoder(const JsonView& json)
      : content_(json["content"].text()),
        start_(json["start"].integer(0, kLargestTokenId)),
        stop_(json["stop"].integer(0, kLargestTokenId)) {
    if (count_characters(content_) != 1) json["content"].complain("must be one character");
  }
  std::vector<std::string> apply(std::vector<std::string> tokens) const override {
    for (std::string& token : tokens) {
      std::string_view rest = token;
      for (std::int64_t i = 0; i < start_ && rest.starts_with(content_); ++i) rest.remove_prefix(content_.size());
      for (std::int64_t i = 0; i < stop_ && rest.ends_with(content_); ++i) rest.remove_suffix(content_.size());
      token = std::string(rest);
    }
    return tokens;
  }

 private:
  std::string content_;
  std::int64_t start_, stop_;
};

}  // namespace

std::optional<char> fallback_byte(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || !token.ends_with('>')) return std::nullopt;
  unsigned byte = 0;
  const auto result = std::from_chars(token.data() + 3, token.data() + 5, byte, 16);
  if (result.ec != std::errc() || result.ptr != token.data() + 5) return std::nullopt;
  return static_cast<char>(byte);
}

std::unique_ptr<Decoder> make_decoder(const JsonView& json) {
  const JsonView type = json["type"];
  const std::string& name = type.text();
  if (name == "Sequence") return std::make_unique<SequenceDecoder>(json);
  if (name == "ByteLevel") return std::make_unique<ByteLevelDecoder>();
  if (name == "Metaspace") return std::make_unique<MetaspaceDecoder>(json);
  if (name == "WordPiece") return std::make_unique<WordPieceDecoder>(json);
  if (name == "CTC") return std::make_unique<CtcDecoder>(json);
  if (name == "BPEDecoder") return std::make_unique<BpeDecoder>(json);
  if (name == "ByteFallback") return std::make_unique<ByteFallback>();
  if (name == "Fuse") return std::make_unique<Fuse>();
  if (name == "Replace") return std::make_unique<ReplaceDecoder>(json);
  if (name == "Strip") return std::make_unique<StripDecoder>(json);
  type.complain("is {}, which is not supported", shown(name));
}

}  // namespace attend::text
