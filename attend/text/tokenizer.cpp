#include "attend/text/tokenizer.h"

#include <algorithm>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/base/unicode/unicode.h"
#include "attend/text/json_view.h"
#include "attend/text/steps.h"

namespace attend::text {

namespace {

constexpr std::size_t kLongestText = std::size_t{1} << 31;  // places in a text are 32-bit

void append(Encoding& to, Encoding&& from) {
  const auto move = [](auto& a, auto& b) {
    a.insert(a.end(), std::make_move_iterator(b.begin()), std::make_move_iterator(b.end()));
  };
  move(to.ids, from.ids);
  move(to.tokens, from.tokens);
  move(to.offsets, from.offsets);
  move(to.type_ids, from.type_ids);
}

// Plain text as one word, each byte from the character it belongs to.
SplitText split_text(std::string_view text, std::uint32_t first, bool tracked) {
  SplitText split{.text = std::string(text), .tracked = tracked, .starts_original = first == 0};
  if (tracked) {
    split.spans.resize(text.size());
    std::uint32_t next = first;  // the number of the next character
    for (std::size_t at = 0; at < text.size(); ++at) {
      const bool continues = (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
      next += continues ? 0 : 1;
      split.spans[at] = {next - 1, next};
    }
  }
  if (!text.empty()) split.words.push_back({0, static_cast<std::uint32_t>(text.size())});
  return split;
}

// And normalized text.
SplitText split_text(const AlignedText& text, bool tracked) {
  SplitText split{.tracked = tracked};
  split.starts_original = !text.empty() && text.spans()[0].begin == 0;
  for (std::size_t i = 0; i < text.characters().size(); ++i) {
    const std::size_t before = split.text.size();
    append_utf8(split.text, text.characters()[i]);
    if (tracked) split.spans.insert(split.spans.end(), split.text.size() - before, text.spans()[i]);
  }
  if (!split.text.empty()) split.words.push_back({0, static_cast<std::uint32_t>(split.text.size())});
  return split;
}

SplitText part_of(const SplitText& whole, std::size_t begin, std::size_t length) {
  SplitText part{.text = whole.text.substr(begin, length),
                 .tracked = whole.tracked,
                 .starts_original = whole.starts_original && begin == 0,
                 .budget = whole.budget};
  if (whole.tracked)
    part.spans.assign(whole.spans.begin() + static_cast<std::ptrdiff_t>(begin),
                      whole.spans.begin() + static_cast<std::ptrdiff_t>(begin + length));
  part.words.push_back({0, static_cast<std::uint32_t>(length)});
  return part;
}

}  // namespace

Tokenizer Tokenizer::parse(std::string_view json, const std::string& what) {
  const Json value = parse_json(json, what);
  return Tokenizer(JsonView(value, what));
}

Tokenizer::Tokenizer(const JsonView& json) {
  for (const char* key : {"normalizer", "pre_tokenizer", "post_processor", "decoder"})
    if (const auto part = json.find(key)) check_steps(*part);
  if (const auto part = json.find("truncation")) truncation_.emplace(*part);
  if (const auto part = json.find("padding")) padding_.emplace(*part);
  model_ = make_model(json["model"]);
  if (const auto part = json.find("normalizer")) normalizer_ = make_normalizer(*part);
  if (const auto part = json.find("pre_tokenizer")) pre_tokenizer_ = make_pre_tokenizer(*part);
  if (const auto part = json.find("post_processor")) post_processor_ = make_post_processor(*part);
  if (const auto part = json.find("decoder")) decoder_ = make_decoder(*part);
  if (const auto part = json.find("added_tokens")) add_tokens(*part);
  find_surroundings();
}

void Tokenizer::add_tokens(const JsonView& json) {
  const auto normalize = [this](const std::string& content) {
    std::string text = content;
    TextBudget budget(content.size());
    if (normalizer_) normalizer_->apply_bytes(text, budget);
    return text;
  };
  added_ = AddedTokens(json, model_->vocabulary(), normalize);
}

void Tokenizer::find_surroundings() {
  if (!post_processor_) return;
  constexpr TokenId kText = -1;
  const auto probe = [&](std::size_t texts) {
    const Encoding text = {.ids = {kText}, .tokens = {""}, .offsets = {{}}, .type_ids = {0}};
    Encoding all;
    for (Encoding& part : post_processor_->apply(std::vector<Encoding>(texts, text), {})) append(all, std::move(part));
    return all.ids;
  };
  const std::vector<TokenId> one = probe(1);
  surrounds_ = std::ranges::count(one, kText) == 1;
  added_to_one_ = one.size() - static_cast<std::size_t>(std::ranges::count(one, kText));
  if (surrounds_) {
    const auto place = std::ranges::find(one, kText);
    before_.assign(one.begin(), place);
    behind_.assign(place + 1, one.end());
  }
  const std::vector<TokenId> two = probe(2);
  added_to_two_ = two.size() - static_cast<std::size_t>(std::ranges::count(two, kText));
  for (const std::vector<TokenId>* ids : {&one, &two})
    for (const TokenId id : *ids) largest_around_ = std::max(largest_around_, id);
}

Encoding Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  std::vector<Encoding> texts;
  texts.push_back(encode_one(text, 0, Want::all));
  return finish(std::move(texts), options);
}

Encoding Tokenizer::encode_pair(std::string_view first, std::string_view second, EncodeOptions options) const {
  std::vector<Encoding> texts;
  texts.push_back(encode_one(first, 0, Want::all));
  texts.push_back(encode_one(second, 1, Want::all));
  return finish(std::move(texts), options);
}

std::vector<TokenId> Tokenizer::encode_ids(std::string_view text, EncodeOptions options) const {
  const bool limited = (truncation_ && options.truncate) || (padding_ && options.pad);
  if (limited || !surrounds_) return encode(text, options).ids;
  Encoding encoding = encode_one(text, 0, Want::ids);
  if (options.add_special_tokens) {
    encoding.ids.insert(encoding.ids.begin(), before_.begin(), before_.end());
    encoding.ids.insert(encoding.ids.end(), behind_.begin(), behind_.end());
  }
  return std::move(encoding.ids);
}

Encoding Tokenizer::finish(std::vector<Encoding> texts, EncodeOptions options) const {
  const std::size_t added = texts.size() > 1 ? added_to_two_ : added_to_one_;
  if (truncation_ && options.truncate) truncation_->apply(texts, options.add_special_tokens ? added : 0);
  if (post_processor_)
    texts = post_processor_->apply(std::move(texts), {.add_special_tokens = options.add_special_tokens});
  Encoding all;
  if (!texts.empty()) all = std::move(texts[0]);  // a template may hold nothing at all
  for (std::size_t i = 1; i < texts.size(); ++i) append(all, std::move(texts[i]));
  if (padding_ && options.pad) padding_->apply(all);
  return all;
}

Encoding Tokenizer::encode_one(std::string_view text, std::int32_t type, Want want) const {
  check(text.size() < kLongestText, "encode: the text has {} bytes, more than {}", text.size(), kLongestText);
  if (const auto bad = find_invalid_utf8(text)) fail("encode: the text is not UTF-8 at byte {}", *bad);
  Encoding out;
  std::vector<TextPart> parts;
  added_.raw().split(text, parts);
  TextBudget budget(text.size());
  std::uint32_t first = 0;  // characters before the part
  for (const TextPart& part : parts) {
    const auto characters =
        static_cast<std::uint32_t>(want == Want::all || parts.size() > 1 ? count_characters(part.text) : 0);
    if (part.token) {
      out.ids.push_back(usable(*part.token));
      if (want == Want::all) {
        out.tokens.emplace_back(part.text);
        out.offsets.push_back({first, first + characters});
      }
    } else {
      encode_part(part.text, {first, want}, budget, out);
    }
    first += characters;
  }
  if (want == Want::all) out.type_ids.assign(out.size(), type);
  return out;
}

void Tokenizer::encode_part(std::string_view part, PartOptions options, TextBudget& budget, Encoding& out) const {
  const auto& [first, want] = options;
  const bool tracked = want == Want::all;
  SplitText split;
  const bool needs_start = pre_tokenizer_ && pre_tokenizer_->asks_for_start();
  if (normalizer_ && !tracked && !needs_start) {
    split = {.text = std::string(part), .starts_original = first == 0};
    normalizer_->apply_bytes(split.text, budget);
    if (!split.text.empty()) split.words.push_back({0, static_cast<std::uint32_t>(split.text.size())});
  } else if (normalizer_) {
    AlignedText text(part, first, budget);
    normalizer_->apply(text);
    split = split_text(text, tracked);
  } else {
    split = split_text(part, first, tracked);
  }
  split.budget = &budget;
  budget.made += split.text.size();
  check_growth(budget.made, budget.original);
  if (added_.normalized().empty()) return encode_words(std::move(split), want, out);
  std::vector<TextPart> parts;
  added_.normalized().split(split.text, parts);
  for (const TextPart& inner : parts) {
    const auto begin = static_cast<std::size_t>(inner.text.data() - split.text.data());
    SplitText piece = part_of(split, begin, inner.text.size());
    if (!inner.token) {
      encode_words(std::move(piece), want, out);
      continue;
    }
    out.ids.push_back(usable(*inner.token));
    if (!tracked) continue;
    out.tokens.emplace_back(inner.text);
    out.offsets.push_back(piece.span(piece.words[0]));
  }
}

void Tokenizer::encode_words(SplitText text, Want want, Encoding& out) const {
  if (pre_tokenizer_) pre_tokenizer_->apply(text);
  if (text.byte_level && !model_->takes_bytes()) spell_bytes(text);
  std::vector<Piece> pieces;
  for (const WordRange& word : text.words) {
    pieces.clear();
    model_->tokenize(text.word(word), {.byte_level = text.byte_level}, pieces);
    std::uint32_t at = word.begin;
    for (const Piece& piece : pieces) {
      out.ids.push_back(piece.id);
      if (want == Want::ids) continue;
      const std::uint32_t end = std::min(at + piece.bytes, word.end);
      const bool spelled = model_->spells_out(piece.id);
      out.tokens.emplace_back(spelled ? text.word({at, end}) : *model_->vocabulary().token(piece.id));
      out.offsets.push_back(text.span({at, end}));
      at = end;
    }
  }
}

std::string Tokenizer::decode(std::span<const TokenId> ids, DecodeOptions options) const {
  std::vector<std::string> tokens;
  tokens.reserve(ids.size());
  for (TokenId id : ids) {
    const AddedToken* added = added_.find(id);
    const std::string* token = added ? &added_.decoded_form(*added) : model_->vocabulary().token(id);
    if (token && !(options.skip_special_tokens && added_.is_special(*token))) tokens.push_back(*token);
  }
  if (decoder_) tokens = decoder_->apply(std::move(tokens));
  std::string text;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0 && !decoder_) text += ' ';
    text += tokens[i];
  }
  return text;
}

std::size_t Tokenizer::vocabulary_size() const {
  std::size_t size = model_->vocabulary().size();
  for (const AddedToken& token : added_.tokens()) size += !model_->vocabulary().find(token.content);
  return size;
}

TokenId Tokenizer::id_limit() const {
  TokenId limit = std::max(model_->vocabulary().largest_id(), largest_around_) + 1;
  if (padding_) limit = std::max(limit, padding_->id() + 1);
  for (const AddedToken& token : added_.tokens()) limit = std::max(limit, token.id + 1);
  return static_cast<TokenId>(std::min<std::int64_t>(limit, rows_));
}

Tokenizer& Tokenizer::fit(std::int64_t rows, const std::string& what) {
  const TokenId largest = std::max(model_->vocabulary().largest_id(), largest_around_);
  check(largest < rows, "{}: the tokenizer has ids up to {}, the model only {} tokens", what, largest, rows);
  rows_ = rows, model_name_ = what;
  return *this;
}

TokenId Tokenizer::usable(const AddedToken& token) const {
  check(token.id < rows_, "{}: the text has the token {} with the id {}, but the model has {} tokens", model_name_,
        shown(token.content), token.id, rows_);
  return token.id;
}

std::optional<TokenId> Tokenizer::token_to_id(std::string_view token) const {
  if (const AddedToken* added = added_.find(token)) return added->id;
  return model_->vocabulary().find(token);
}

std::optional<std::string_view> Tokenizer::id_to_token(TokenId id) const {
  if (const AddedToken* added = added_.find(id)) return added->content;
  const std::string* token = model_->vocabulary().token(id);
  return token ? std::optional<std::string_view>(*token) : std::nullopt;
}

}  // namespace attend::text
