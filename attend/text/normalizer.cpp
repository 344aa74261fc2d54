#include "attend/text/normalizer.h"

#include <utility>

#include "attend/base/unicode.h"
#include "attend/text/json_view.h"
#include "attend/text/unicode_normalization.h"

namespace attend {

namespace {

class Sequence : public Normalizer {
 public:
  explicit Sequence(const JsonView& json) {
    for (const JsonView& part : json["normalizers"].items()) parts_.push_back(make_normalizer(part));
  }
  void apply(AlignedText& text) const override {
    for (const auto& part : parts_) part->apply(text);
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

 private:
  NormalizationForm form_;
};

class Lowercase : public Normalizer {
 public:
  void apply(AlignedText& text) const override {
    constexpr char32_t kCapitalIWithDot = 0x130, kDotAbove = 0x307;
    std::vector<ChangedCharacter> changes;
    changes.reserve(text.characters().size());
    for (char32_t c : text.characters()) {
      changes.push_back({c == kCapitalIWithDot ? U'i' : lower_character(c), 0});
      if (c == kCapitalIWithDot) changes.push_back({kDotAbove, 1});
    }
    text.transform(changes);
  }
};

class StripAccents : public Normalizer {
 public:
  void apply(AlignedText& text) const override {
    text.filter([](char32_t c) { return !has_property(c, Property::mark); });
  }
};

class Strip : public Normalizer {
 public:
  explicit Strip(const JsonView& json) : left_(json["strip_left"].boolean()), right_(json["strip_right"].boolean()) {}
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
  explicit Prepend(const JsonView& json) : text_(to_characters(json["prepend"].text())) {}
  void apply(AlignedText& text) const override { text.prepend(text_); }

 private:
  std::u32string text_;
};

class Replace : public Normalizer {
 public:
  explicit Replace(const JsonView& json) : content_(to_characters(json["content"].text())) {
    const JsonView pattern = json["pattern"];
    if (const auto regex = pattern.find("Regex")) regex->complain("is not supported: only String patterns are");
    pattern_ = to_characters(pattern["String"].text());
  }
  void apply(AlignedText& text) const override { text.replace(pattern_, content_); }

 private:
  std::u32string pattern_, content_;
};

}  // namespace

std::unique_ptr<Normalizer> make_normalizer(const JsonView& json) {
  const JsonView type = json["type"];
  const std::string& name = type.text();
  if (name == "Sequence") return std::make_unique<Sequence>(json);
  if (name == "NFC") return std::make_unique<UnicodeForm>(NormalizationForm::nfc);
  if (name == "NFD") return std::make_unique<UnicodeForm>(NormalizationForm::nfd);
  if (name == "NFKC") return std::make_unique<UnicodeForm>(NormalizationForm::nfkc);
  if (name == "NFKD") return std::make_unique<UnicodeForm>(NormalizationForm::nfkd);
  if (name == "Lowercase") return std::make_unique<Lowercase>();
  if (name == "StripAccents") return std::make_unique<StripAccents>();
  if (name == "Strip") return std::make_unique<Strip>(json);
  if (name == "Prepend") return std::make_unique<Prepend>(json);
  if (name == "Replace") return std::make_unique<Replace>(json);
  type.complain("is {}, which is not supported", shown(name));
}

}  // namespace attend
