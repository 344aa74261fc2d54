#include "attend/text/steps/post_processor.h"

#include <algorithm>
#include <map>
#include <utility>

#include "attend/base/limits.h"
#include "attend/base/unicode/unicode.h"
#include "attend/text/json_view.h"
#include "attend/text/steps/byte_level.h"

namespace attend::text {

namespace {

struct SpecialToken {
  std::string token;
  TokenId id = 0;
};

SpecialToken special_token(const JsonView& text, const JsonView& id) {
  if (text.text().size() > limits::kLongestToken)
    text.complain("is longer than {} bytes (kLongestToken in attend/base/limits.h)", limits::kLongestToken);
  return {text.text(), static_cast<TokenId>(id.integer(0, kLargestTokenId))};
}

// ["</s>", 2]
SpecialToken special_token(const JsonView& json) {
  const std::vector<JsonView> items = json.items();
  if (items.size() != 2) json.complain("must be a token and its id");
  return special_token(items[0], items[1]);
}

void put(Encoding& encoding, std::size_t at, const SpecialToken& special, std::int32_t type) {
  const auto place = [at](auto& list) { return list.begin() + static_cast<std::ptrdiff_t>(at); };
  encoding.ids.insert(place(encoding.ids), special.id);
  encoding.tokens.insert(place(encoding.tokens), special.token);
  encoding.offsets.insert(place(encoding.offsets), Span{});
  encoding.type_ids.insert(place(encoding.type_ids), type);
}

bool is_space_character(char32_t c) { return c == kByteCharacters[' '] || has_property(c, Property::white_space); }

// Offsets without the white space that a byte-level token begins or ends with.
void trim_offsets(Encoding& encoding, bool add_prefix_space) {
  for (std::size_t i = 0; i < encoding.size(); ++i) {
    const std::u32string token = to_characters(encoding.tokens[i]);
    Span& offset = encoding.offsets[i];
    std::uint32_t leading = 0, trailing = 0;
    while (leading < token.size() && is_space_character(token[leading])) ++leading;
    while (trailing < token.size() && is_space_character(token[token.size() - 1 - trailing])) ++trailing;
    // A single space at the very start is the one that was put there.
    const bool first = i == 0 || offset.begin == 0;
    if (first && add_prefix_space && leading == 1) leading = 0;
    offset.begin = std::min(offset.begin + leading, offset.end);
    if (trailing > 0 && offset.end >= trailing) offset.end = std::max(offset.end - trailing, offset.begin);
  }
}

class ByteLevelProcessor : public PostProcessor {
 public:
  explicit ByteLevelProcessor(const JsonView& json)
      : trim_(json.boolean("trim_offsets", true)), add_prefix_space_(json.boolean("add_prefix_space", true)) {}
  std::vector<Encoding> apply(std::vector<Encoding> texts, PostOptions) const override {
    if (trim_)
      for (Encoding& text : texts) trim_offsets(text, add_prefix_space_);
    return texts;
  }

 private:
  bool trim_, add_prefix_space_;
};

// [CLS] a [SEP] b [SEP]
class Bert : public PostProcessor {
 public:
  explicit Bert(const JsonView& json) : separator_(special_token(json["sep"])), start_(special_token(json["cls"])) {}
  std::vector<Encoding> apply(std::vector<Encoding> texts, PostOptions options) const override {
    if (!options.add_special_tokens) return texts;
    put(texts[0], 0, start_, 0);
    put(texts[0], texts[0].size(), separator_, 0);
    if (texts.size() > 1) put(texts[1], texts[1].size(), separator_, 1);
    return texts;
  }

 private:
  SpecialToken separator_, start_;
};

// <s> a </s></s> b </s>, and no types.
class Roberta : public PostProcessor {
 public:
  explicit Roberta(const JsonView& json)
      : separator_(special_token(json["sep"])),
        start_(special_token(json["cls"])),
        trim_(json.boolean("trim_offsets", true)),
        add_prefix_space_(json.boolean("add_prefix_space", true)) {}
  std::vector<Encoding> apply(std::vector<Encoding> texts, PostOptions options) const override {
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (trim_) trim_offsets(texts[i], add_prefix_space_);
      std::ranges::fill(texts[i].type_ids, 0);
      if (!options.add_special_tokens) continue;
      put(texts[i], 0, i == 0 ? start_ : separator_, 0);
      put(texts[i], texts[i].size(), separator_, 0);
    }
    return texts;
  }

 private:
  SpecialToken separator_, start_;
  bool trim_, add_prefix_space_;
};

class Template : public PostProcessor {
 public:
  explicit Template(const JsonView& json) {
    const JsonView specials = json["special_tokens"];
    if (!specials.value().is_object()) specials.complain("must be an object");
    for (const auto& [name, special] : specials.value().items()) read_special(specials[name], name);
    single_ = read_pieces(json["single"], 1);
    pair_ = read_pieces(json["pair"], 2);
  }

  std::vector<Encoding> apply(std::vector<Encoding> texts, PostOptions options) const override {
    std::vector<Encoding> out;
    for (const TemplatePiece& piece : texts.size() > 1 ? pair_ : single_) {
      if (!piece.specials.empty() || piece.text < 0) {
        Encoding around;
        for (const SpecialToken& special : piece.specials) put(around, around.size(), special, piece.type);
        if (options.add_special_tokens) out.push_back(std::move(around));
        continue;
      }
      Encoding text = texts[static_cast<std::size_t>(piece.text)];
      std::ranges::fill(text.type_ids, piece.type);
      out.push_back(std::move(text));
    }
    return out;
  }

 private:
  struct TemplatePiece {
    int text = -1;  // 0 or 1, or special tokens instead
    std::vector<SpecialToken> specials = {};
    std::int32_t type = 0;
  };

  void read_special(const JsonView& json, const std::string& name) {
    const std::vector<JsonView> ids = json["ids"].items(), tokens = json["tokens"].items();
    if (ids.size() != tokens.size()) json.complain("has {} ids but {} tokens", ids.size(), tokens.size());
    if (ids.size() > limits::kMostSpecialTokens)
      json.complain("has more than {} tokens (kMostSpecialTokens in attend/base/limits.h)", limits::kMostSpecialTokens);
    for (std::size_t i = 0; i < ids.size(); ++i) specials_[name].push_back(special_token(tokens[i], ids[i]));
  }

  std::vector<TemplatePiece> read_pieces(const JsonView& json, int texts) const {
    constexpr std::size_t kMost = 64;  // each may be a copy of the text
    std::vector<TemplatePiece> pieces;
    if (json.is_array() && json.value().size() > kMost) json.complain("has more than {} pieces", kMost);
    for (const JsonView& item : json.items()) {
      TemplatePiece piece;
      const auto sequence = item.find("Sequence");
      const JsonView body = sequence ? *sequence : item["SpecialToken"];
      piece.type = static_cast<std::int32_t>(body["type_id"].integer(0, kLargestTokenId));
      const std::string id = body["id"].text();
      if (sequence) {
        piece.text = id == "A" ? 0 : id == "B" && texts == 2 ? 1 : -1;
        if (piece.text < 0) body.complain("has the id {}, which is no text", shown(id));
      } else {
        const auto found = specials_.find(id);
        if (found == specials_.end()) body.complain("has the id {}, which is not in special_tokens", shown(id));
        piece.specials = found->second;
      }
      pieces.push_back(std::move(piece));
    }
    return pieces;
  }

  std::map<std::string, std::vector<SpecialToken>> specials_;
  std::vector<TemplatePiece> single_, pair_;
};

class SequenceProcessor : public PostProcessor {
 public:
  explicit SequenceProcessor(const JsonView& json) {
    for (const JsonView& part : json["processors"].items()) {
      // Nothing is defined behind a template: it returns more parts than there are texts.
      if (!parts_.empty() && dynamic_cast<const Template*>(parts_.back().get()))
        part.complain("stands behind a template, which is not supported");
      parts_.push_back(make_post_processor(part));
    }
  }
  std::vector<Encoding> apply(std::vector<Encoding> texts, PostOptions options) const override {
    for (const auto& part : parts_) texts = part->apply(std::move(texts), options);
    return texts;
  }

 private:
  std::vector<std::unique_ptr<PostProcessor>> parts_;
};

}  // namespace

std::unique_ptr<PostProcessor> make_post_processor(const JsonView& json) {
  const JsonView type = json["type"];
  const std::string& name = type.text();
  if (name == "ByteLevel") return std::make_unique<ByteLevelProcessor>(json);
  if (name == "BertProcessing") return std::make_unique<Bert>(json);
  if (name == "RobertaProcessing") return std::make_unique<Roberta>(json);
  if (name == "TemplateProcessing") return std::make_unique<Template>(json);
  if (name == "Sequence") return std::make_unique<SequenceProcessor>(json);
  type.complain("is {}, which is not supported", shown(name));
}

}  // namespace attend::text
