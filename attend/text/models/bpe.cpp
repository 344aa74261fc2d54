#include "attend/text/models/bpe.h"

#include "attend/base/limits.h"
#include "attend/base/unicode/unicode.h"
#include "attend/text/json_view.h"
#include "attend/text/steps/byte_level.h"

namespace attend::text {

Bpe::Bpe(const JsonView& json) {
  if (const auto dropout = json.find("dropout"))
    if (!dropout->value().is_number() || dropout->value().get<double>() != 0) dropout->complain("is not supported");
  prefix_ = json.text("continuing_subword_prefix", "");
  suffix_ = json.text("end_of_word_suffix", "");
  // Both are put to every character of a text.
  for (const std::string* part : {&prefix_, &suffix_})
    if (part->size() > limits::kLongestToken)
      json.complain("has a prefix or suffix longer than {} bytes (kLongestToken in attend/base/limits.h)",
                    limits::kLongestToken);
  fuse_unknown_ = json.boolean("fuse_unk", false);
  byte_fallback_ = json.boolean("byte_fallback", false);
  whole_words_first_ = json.boolean("ignore_merges", false);
  vocabulary_ = read_vocabulary(json["vocab"]);
  if (const auto token = json.find("unk_token")) {
    unknown_ = vocabulary_.find(token->text());
    if (!unknown_) token->complain("is {}, which is not in model.vocab", shown(token->text()));
  }
  read_merges(json["merges"]);
  find_bytes();
}

void Bpe::read_merges(const JsonView& json) {
  if (!json.is_array()) json.complain("must be a list");
  const auto& merges = json.value();
  merger_ = BpeMerger(merges.size());
  std::string joined;
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    std::string_view a, b;
    const auto& merge = merges[rank];
    if (merge.is_string()) {
      const std::string_view line = merge.text();
      if (rank == 0 && line.starts_with("#version")) continue;
      const std::size_t space = line.find(' ');
      if (space != line.npos) a = line.substr(0, space), b = line.substr(space + 1);
      if (space == line.npos || b.find(' ') != b.npos)
        json.complain("[{}] must be two tokens with a space between", rank);
    } else {
      if (!merge.is_array() || merge.size() != 2 || !merge[0].is_string() || !merge[1].is_string())
        json.complain("[{}] must be two tokens", rank);
      a = merge[0].text(), b = merge[1].text();
    }
    const auto token = [&](std::string_view text) {
      const auto id = vocabulary_.find(text);
      if (!id) json.complain("[{}] needs the token {}, which is not in model.vocab", rank, shown(text));
      return *id;
    };
    if (b.size() < prefix_.size()) json.complain("[{}] has a second token without the prefix {}", rank, shown(prefix_));
    joined.assign(a).append(b.substr(prefix_.size()));
    const TokenId first = token(a), second = token(b);
    merger_.add(first, second, static_cast<std::uint32_t>(rank), token(joined));
  }
}

void Bpe::find_bytes() {
  takes_bytes_ = prefix_.empty() && suffix_.empty() && !whole_words_first_;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    std::string character;
    append_utf8(character, kByteCharacters[byte]);
    const auto id = vocabulary_.find(character);
    takes_bytes_ = takes_bytes_ && id;
    printable_ids_[byte] = id.value_or(-1);
    fallback_ids_[byte] = vocabulary_.find(fmt::format("<0x{:02X}>", byte));
  }
}

void Bpe::tokenize(std::string_view word, WordOptions options, std::vector<Piece>& out) const {
  if (whole_words_first_) {
    if (const auto id = vocabulary_.find(word)) {
      out.push_back({*id, static_cast<std::uint32_t>(word.size())});
      return;
    }
  }
  const std::uint64_t hash = hash_text(word);
  if (cache_.find(word, hash, out)) return;
  std::vector<Piece> pieces;
  pieces.reserve(word.size());
  if (options.byte_level) {
    for (char byte : word) pieces.push_back({printable_ids_[static_cast<unsigned char>(byte)], 1});
  } else {
    split(word, pieces);
  }
  merger_.merge(pieces);
  cache_.insert(word, hash, pieces.data(), pieces.size());
  out.insert(out.end(), pieces.begin(), pieces.end());
}

bool Bpe::fall_back_to_bytes(std::string_view symbol, std::vector<Piece>& out) const {
  for (char byte : symbol)
    if (!fallback_ids_[static_cast<unsigned char>(byte)]) return false;
  for (char byte : symbol) out.push_back({*fallback_ids_[static_cast<unsigned char>(byte)], 1});
  return true;
}

void Bpe::split(std::string_view word, std::vector<Piece>& out) const {
  std::string symbol;
  std::optional<Piece> unknown;  // waits: another one may be joined to it
  for (std::size_t at = 0, length; at < word.size(); at += length) {
    length = utf8_length(word[at]);
    symbol.assign(at > 0 ? prefix_ : "").append(word.substr(at, length));
    if (at + length == word.size()) symbol.append(suffix_);
    const auto bytes = static_cast<std::uint32_t>(length);
    if (const auto id = vocabulary_.find(symbol)) {
      if (unknown) out.push_back(*unknown);
      unknown.reset();
      out.push_back({*id, bytes});
    } else if (byte_fallback_ && fall_back_to_bytes(symbol, out)) {
      continue;
    } else if (unknown_ && unknown && fuse_unknown_) {
      unknown->bytes += bytes;
    } else if (unknown_) {
      if (unknown) out.push_back(*unknown);
      unknown = Piece{*unknown_, bytes};
    }
  }
  if (unknown) out.push_back(*unknown);
}

}  // namespace attend::text
