#include "attend/text/models/word_piece.h"

#include "attend/base/hashing.h"
#include "attend/base/unicode/unicode.h"
#include "attend/text/json_view.h"

namespace attend::text {

WordPiece::WordPiece(const JsonView& json) {
  vocabulary_ = read_vocabulary(json["vocab"]);
  const std::string unknown = json.text("unk_token", "[UNK]");
  if (const auto id = vocabulary_.find(unknown)) {
    unknown_ = *id;
  } else {
    json.complain("has the unk_token {}, which is not in its vocab", shown(unknown));
  }
  if (const auto most = json.find("max_input_chars_per_word"))
    longest_word_ = static_cast<std::size_t>(most->integer(0, kLargestTokenId));
  std::vector<ByteTrie::Key> keys;
  keys.reserve(vocabulary_.size());
  for (TokenId id = 0; id <= vocabulary_.largest_id(); ++id)
    if (const std::string* token = vocabulary_.token(id)) keys.emplace_back(*token, id);
  trie_ = ByteTrie(std::move(keys));
  continuing_ = ByteTrie::kRoot;
  for (char byte : json.text("continuing_subword_prefix", "##"))
    if (continuing_ != ByteTrie::kNone) continuing_ = trie_.step(continuing_, byte);
}

bool WordPiece::spell(std::string_view word, std::vector<Piece>& out) const {
  for (std::size_t at = 0; at < word.size();) {
    if (at > 0 && continuing_ == ByteTrie::kNone) return false;
    const auto [id, bytes] = trie_.longest(word.substr(at), at > 0 ? continuing_ : ByteTrie::kRoot);
    if (bytes == 0) return false;
    out.push_back({id, bytes});
    at += bytes;
  }
  return true;
}

void WordPiece::tokenize(std::string_view word, WordOptions, std::vector<Piece>& out) const {
  if (word.empty()) return;
  const std::uint64_t hash = hash_text(word);
  if (cache_.find(word, hash, out)) return;
  const std::size_t before = out.size();
  const bool fits = word.size() <= longest_word_ || count_characters(word) <= longest_word_;
  if (!fits || !spell(word, out)) {
    out.resize(before);
    out.push_back({unknown_, static_cast<std::uint32_t>(word.size())});
  }
  cache_.insert(word, hash, out.data() + before, out.size() - before);
}

WordLevel::WordLevel(const JsonView& json) {
  vocabulary_ = read_vocabulary(json["vocab"]);
  unknown_ = vocabulary_.find(json.text("unk_token", "<unk>"));
}

void WordLevel::tokenize(std::string_view word, WordOptions, std::vector<Piece>& out) const {
  const auto id = vocabulary_.find(word);
  check(id || unknown_, "encode: {} is not in the vocabulary, which has no unk_token", shown(word));
  out.push_back({id ? *id : *unknown_, static_cast<std::uint32_t>(word.size())});
}

}  // namespace attend::text
