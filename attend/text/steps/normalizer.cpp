#include "attend/text/steps/normalizer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "attend/base/unicode/unicode.h"
#include "attend/text/json_view.h"
#include "attend/text/steps/bert_normalizer.h"
#include "attend/text/steps/byte_level.h"
#include "attend/text/steps/pattern.h"
#include "attend/text/steps/precompiled_normalizer.h"
#include "attend/text/steps/unicode_normalization.h"

namespace attend::text {

namespace {

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

class SequenceNormalizer : public Normalizer {
 public:
  explicit SequenceNormalizer(const JsonView& json) {
    for (const JsonView& part : json["normalizers"].items()) parts_.push_back(make_normalizer(part));
  }
  void apply(AlignedText& text) const override {
    for (const auto& part : parts_) part->apply(text);
  }
  void apply_bytes(std::string& text, TextBudget& budget) const override {
    for (const auto& part : parts_) {
      part->apply_bytes(text, budget);
      check_growth(text.size(), budget.original);
    }
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> parts_;
};

class UnicodeForm : public Normalizer {
 public:
  explicit UnicodeForm(NormalizationForm form) : form_(form) {}
  void apply(AlignedText& text) const override {
    for (char32_t c : text.characters()) {
      if (c < 0xA0) continue;  // below, every form is the identity
      text.transform(normalize(text.characters(), form_));
      return;
    }
  }
  void apply_bytes(std::string& text, TextBudget& budget) const override {
    if (!is_ascii(text)) Normalizer::apply_bytes(text, budget);
  }

 private:
  NormalizationForm form_;
};

class Lowercase : public Normalizer {
 public:
  void apply(AlignedText& text) const override { lower_text(text); }
  void apply_bytes(std::string& text, TextBudget& budget) const override {
    if (!is_ascii(text)) return Normalizer::apply_bytes(text, budget);
    for (char& c : text)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
};

class StripAccents : public Normalizer {
 public:
  void apply(AlignedText& text) const override {
    text.filter([](char32_t c) { return !has_property(c, Property::mark); });
  }
  void apply_bytes(std::string& text, TextBudget& budget) const override {
    if (!is_ascii(text)) Normalizer::apply_bytes(text, budget);
  }
};

class StripNormalizer : public Normalizer {
 public:
  explicit StripNormalizer(const JsonView& json)
      : left_(json["strip_left"].boolean()), right_(json["strip_right"].boolean()) {}
  void apply(AlignedText& text) const override {
    const auto& all = text.characters();
    const auto space = [&](std::size_t i) { return has_property(all[i], Property::white_space); };
    std::size_t begin = 0, end = all.size();
    while (left_ && begin < end && space(begin)) ++begin;
    while (right_ && end > begin && space(end - 1)) --end;
    if (begin == 0 && end == all.size()) return;
    std::vector<ChangedCharacter> changes;
    for (std::size_t i = begin; i < end; ++i) changes.push_back({all[i], 0});
    text.transform(changes, begin);
  }

 private:
  bool left_, right_;
};

class Prepend : public Normalizer {
 public:
  explicit Prepend(const JsonView& json) : bytes_(json["prepend"].text()), text_(to_characters(bytes_)) {}
  void apply(AlignedText& text) const override { text.prepend(text_); }
  void apply_bytes(std::string& text, TextBudget& budget) const override {
    if (text.empty()) return;
    check_growth(text.size() + bytes_.size(), budget.original);
    text.insert(0, bytes_);
  }

 private:
  std::string bytes_;
  std::u32string text_;
};

class ReplaceNormalizer : public Normalizer {
 public:
  explicit ReplaceNormalizer(const JsonView& json) : content_(to_characters(json["content"].text())) {
    const JsonView pattern = json["pattern"];
    if (const auto regex = pattern.find("Regex")) {
      regex_.emplace(read_pattern(*regex));
    } else {
      bytes_ = pattern["String"].text();
      pattern_ = to_characters(bytes_);
      if (bytes_.size() > limits::kLongestFixedPattern)
        pattern["String"].complain("is longer than {} bytes (kLongestFixedPattern in attend/base/limits.h)",
                                   limits::kLongestFixedPattern);
    }
  }
  void apply(AlignedText& text) const override {
    if (!regex_) return text.replace(pattern_, content_);
    const std::string bytes = to_utf8(text.characters());
    std::vector<AlignedText::Range> ranges;
    std::size_t at = 0, character = 0;  // so far
    for (const auto& [begin, end] : regex_->find_all(bytes, text.budget().steps)) {
      character += count_characters(std::string_view(bytes).substr(at, begin - at));
      const std::size_t first = character;
      character += count_characters(std::string_view(bytes).substr(begin, end - begin));
      ranges.push_back({first, character});
      at = end;
    }
    text.replace(ranges, content_);
  }
  void apply_bytes(std::string& text, TextBudget& budget) const override {
    if (regex_ || text.find(bytes_) != text.npos) Normalizer::apply_bytes(text, budget);
  }

 private:
  std::string bytes_;
  std::u32string pattern_, content_;
  std::optional<Pattern> regex_;
};

// What Marian-like systems clean away before anything else (sacremoses' and SentencePiece's "nmt" rules).
class Nmt : public Normalizer {
 public:
  void apply(AlignedText& text) const override {
    text.filter([](char32_t c) {
      return !((c >= 0x1 && c <= 0x8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F);
    });
    std::u32string characters = text.characters();
    std::ranges::replace_if(characters, is_space, U' ');
    text.assign(std::move(characters), text.spans());
  }

 private:
  static bool is_space(char32_t c) {
    return c == 0x9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 || (c >= 0x200B && c <= 0x200F) || c == 0x2028 ||
           c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
  }
};

// Every byte as GPT-2's printable character.
class ByteLevelNormalizer : public Normalizer {
 public:
  void apply(AlignedText& text) const override {
    std::vector<ChangedCharacter> changes;
    std::string bytes;
    for (char32_t c : text.characters()) {
      bytes.clear();
      append_utf8(bytes, c);
      for (std::size_t i = 0; i < bytes.size(); ++i)
        changes.push_back({kByteCharacters[static_cast<unsigned char>(bytes[i])], i > 0 ? 1 : 0});
    }
    text.transform(changes);
  }
  void apply_bytes(std::string& text, TextBudget&) const override { text = to_byte_characters(text); }
};

}  // namespace

void Normalizer::apply_bytes(std::string& text, TextBudget& budget) const {
  AlignedText aligned(text, 0, budget);
  apply(aligned);
  text = to_utf8(aligned.characters());
}

std::unique_ptr<Normalizer> make_normalizer(const JsonView& json) {
  const JsonView type = json["type"];
  const std::string& name = type.text();
  if (name == "Sequence") return std::make_unique<SequenceNormalizer>(json);
  if (name == "NFC") return std::make_unique<UnicodeForm>(NormalizationForm::nfc);
  if (name == "NFD") return std::make_unique<UnicodeForm>(NormalizationForm::nfd);
  if (name == "NFKC") return std::make_unique<UnicodeForm>(NormalizationForm::nfkc);
  if (name == "NFKD") return std::make_unique<UnicodeForm>(NormalizationForm::nfkd);
  if (name == "BertNormalizer") return std::make_unique<BertNormalizer>(json);
  if (name == "Precompiled") return std::make_unique<PrecompiledNormalizer>(json);
  if (name == "Nmt") return std::make_unique<Nmt>();
  if (name == "ByteLevel") return std::make_unique<ByteLevelNormalizer>();
  if (name == "Lowercase") return std::make_unique<Lowercase>();
  if (name == "StripAccents") return std::make_unique<StripAccents>();
  if (name == "Strip") return std::make_unique<StripNormalizer>(json);
  if (name == "Prepend") return std::make_unique<Prepend>(json);
  if (name == "Replace") return std::make_unique<ReplaceNormalizer>(json);
  type.complain("is {}, which is not supported", shown(name));
}

}  // namespace attend::text
