#include "attend/text/steps/added_tokens.h"

#include <algorithm>

#include "attend/base/limits.h"
#include "attend/base/unicode/unicode.h"
#include "attend/text/json_view.h"

namespace attend::text {

namespace {

bool starts_with(std::string_view text, std::uint8_t property) {
  std::size_t at = 0;
  return !text.empty() && has_property(next_character(text, at), property);
}

// Where the last character begins.
std::size_t last_character(std::string_view text) {
  std::size_t at = text.size() - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

// Looking for a token takes at most so many steps per byte.
void check_length(const JsonView& item, std::string_view text) {
  if (text.size() > limits::kLongestToken)
    item.complain("is longer than {} bytes (kLongestToken in attend/base/limits.h)", limits::kLongestToken);
}

bool ends_with(std::string_view text, std::uint8_t property) {
  return !text.empty() && starts_with(text.substr(last_character(text)), property);
}

}  // namespace

TokenFinder::TokenFinder(const std::vector<Pattern>& patterns) {
  std::vector<ByteTrie::Key> keys;
  for (const Pattern& pattern : patterns) {
    keys.emplace_back(pattern.text, static_cast<std::int32_t>(tokens_.size()));
    tokens_.push_back(pattern.token);
  }
  trie_ = ByteTrie(std::move(keys));
}

TokenFinder::Hit TokenFinder::find(std::string_view text, std::size_t from) const {
  for (std::size_t begin = from; begin < text.size(); ++begin) {
    if (trie_.step(ByteTrie::kRoot, text[begin]) == ByteTrie::kNone) continue;
    const auto [value, bytes] = trie_.longest(text.substr(begin));
    if (bytes > 0) return {begin, begin + bytes, tokens_[static_cast<std::size_t>(value)]};
  }
  return {};
}

void TokenFinder::split(std::string_view text, std::vector<TextPart>& parts) const {
  std::size_t done = 0;
  for (Hit hit = empty() ? Hit{} : find(text, 0); hit.token; hit = find(text, hit.end)) {
    std::size_t begin = std::max(hit.begin, done), end = hit.end;
    if (begin >= end) continue;  // the white space it is made of went with the token before
    const AddedToken& token = *hit.token;
    if (token.single_word &&
        (ends_with(text.substr(0, begin), Property::word) || starts_with(text.substr(end), Property::word)))
      continue;
    while (token.lstrip && begin > done && ends_with(text.substr(0, begin), Property::white_space))
      begin = last_character(text.substr(0, begin));
    while (token.rstrip && starts_with(text.substr(end), Property::white_space)) end += utf8_length(text[end]);
    if (done < begin) parts.push_back({text.substr(done, begin - done), nullptr});
    parts.push_back({text.substr(begin, end - begin), &token});
    done = end;
  }
  if (done < text.size()) parts.push_back({text.substr(done), nullptr});
}

AddedTokens::AddedTokens(const JsonView& json, const Vocabulary& vocabulary,
                         const std::function<std::string(const std::string&)>& normalize) {
  const std::vector<JsonView> items = json.items();
  std::vector<TokenFinder::Pattern> raw, normalized;
  tokens_.reserve(items.size());  // the finders keep pointers
  for (const JsonView& item : items) {
    AddedToken token = {.content = item["content"].text(),
                        .id = static_cast<TokenId>(item["id"].integer(0, kLargestTokenId)),
                        .special = item.boolean("special", false)};
    token.normalized = item.boolean("normalized", !token.special);
    token.single_word = item.boolean("single_word", false);
    token.lstrip = item.boolean("lstrip", false);
    token.rstrip = item.boolean("rstrip", false);
    check_length(item, token.content);
    if (token.content.empty()) continue;
    const auto known = vocabulary.find(token.content);
    if (known && *known != token.id)
      item.complain("gives {} the id {}, but in model.vocab it is {}", shown(token.content), token.id, *known);
    if (by_content_.contains(token.content)) item.complain("names {} a second time", shown(token.content));
    by_content_[token.content] = tokens_.size();
    by_id_[token.id] = tokens_.size();
    if (token.special) special_.insert(token.content);
    tokens_.push_back(std::move(token));
    const AddedToken& added = tokens_.back();
    if (!added.normalized) {
      raw.push_back({added.content, &added});
      continue;
    }
    std::string form = normalize(added.content);
    check_length(item, form);
    normalized.push_back({form, &added});
    if (form != added.content) normalized_forms_[added.id] = std::move(form);
  }
  raw_ = TokenFinder(raw);
  normalized_ = TokenFinder(normalized);
}

const AddedToken* AddedTokens::find(std::string_view content) const {
  const auto found = by_content_.find(std::string(content));
  return found == by_content_.end() ? nullptr : &tokens_[found->second];
}

const AddedToken* AddedTokens::find(TokenId id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &tokens_[found->second];
}

const std::string& AddedTokens::decoded_form(const AddedToken& token) const {
  const auto found = normalized_forms_.find(token.id);
  return found == normalized_forms_.end() ? token.content : found->second;
}

}  // namespace attend::text
