#include "attend/text/steps/sentencepiece_normalizer.h"

#include <algorithm>

#include "attend/base/unicode/unicode.h"

namespace attend::text {

namespace {

std::vector<ByteTrie::Key> user_keys(const SentencePieceFile& file) {
  std::vector<ByteTrie::Key> keys;
  for (std::size_t id = 0; id < file.pieces.size(); ++id)
    if (file.pieces[id].type == PieceType::user_defined)
      keys.emplace_back(file.pieces[id].text, static_cast<std::int32_t>(id));
  return keys;
}

}  // namespace

SentencePieceNormalizer::SentencePieceNormalizer(const SentencePieceFile& file, const std::string& what)
    : rules_(file.charsmap, what),
      user_defined_(user_keys(file)),
      space_(file.escape_whitespaces ? "▁" : " "),
      add_dummy_prefix_(file.add_dummy_prefix),
      remove_extra_(file.remove_extra_whitespaces),
      suffix_(file.whitespace_as_suffix) {}

Charsmap::Rule SentencePieceNormalizer::next(std::string_view text) const {
  if (!user_defined_.empty())
    if (const auto found = user_defined_.longest(text); found.bytes > 0)
      return {found.bytes, text.substr(0, found.bytes)};
  const bool alone = text.size() == 1 || static_cast<unsigned char>(text[1]) < 0x80;
  if (alone && rules_.is_plain(text[0])) return {1, text.substr(0, 1)};
  if (const auto rule = rules_.longest(text)) return *rule;
  const std::size_t length = std::min(utf8_length(text[0]), text.size());
  return {length, text.substr(0, length)};
}

std::string SentencePieceNormalizer::normalize(std::string_view text, std::vector<Source>* sources) const {
  std::string out;
  std::uint32_t at = 0;
  const auto append = [&](std::string_view bytes, Source source) {
    out.append(bytes);
    if (sources) sources->insert(sources->end(), bytes.size(), source);
  };
  Charsmap::Rule rule;
  for (; remove_extra_ && at < text.size(); at += static_cast<std::uint32_t>(rule.bytes))
    if ((rule = next(text.substr(at))).replacement != " ") break;
  if (at == text.size()) return out;
  out.reserve(text.size() + text.size() / 2 + 8);
  if (add_dummy_prefix_ && !suffix_) append(space_, {at, at + static_cast<std::uint32_t>(utf8_length(text[at]))});
  bool after_space = remove_extra_;
  for (; at < text.size(); at += static_cast<std::uint32_t>(rule.bytes)) {
    rule = next(text.substr(at));
    std::string_view part = rule.replacement;
    if (part.size() > limits::kTextGrowth) check_growth(out.size() + part.size(), text.size());
    while (after_space && part.starts_with(' ')) part.remove_prefix(1);
    const Source source = {at, at + static_cast<std::uint32_t>(rule.bytes)};
    for (std::size_t i = 0; i < part.size(); ++i) append(part[i] == ' ' ? space_ : part.substr(i, 1), source);
    if (!part.empty()) after_space = remove_extra_ && part.back() == ' ';
  }
  while (remove_extra_ && out.ends_with(space_)) out.resize(out.size() - space_.size());
  if (sources) sources->resize(out.size());
  const auto end = static_cast<std::uint32_t>(text.size());
  if (add_dummy_prefix_ && suffix_) append(space_, {end - 1, end});
  return out;
}

void SentencePieceNormalizer::apply_bytes(std::string& text, TextBudget&) const { text = normalize(text, nullptr); }

void SentencePieceNormalizer::apply(AlignedText& text) const {
  std::string bytes;
  std::vector<std::uint32_t> character_of;  // each byte
  for (std::size_t i = 0; i < text.characters().size(); ++i) {
    append_utf8(bytes, text.characters()[i]);
    character_of.resize(bytes.size(), static_cast<std::uint32_t>(i));
  }
  std::vector<Source> sources;
  const std::string result = normalize(bytes, &sources);
  std::u32string characters;
  std::vector<Span> spans;
  for (std::size_t at = 0; at < result.size();) {
    const Source source = sources[at];
    spans.push_back({text.spans()[character_of[source.begin]].begin, text.spans()[character_of[source.end - 1]].end});
    characters.push_back(next_character(result, at));
  }
  text.assign(std::move(characters), std::move(spans));
}

}  // namespace attend::text
