#include "attend/text/models/unigram.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attend/base/hashing.h"
#include "attend/base/unicode/unicode.h"
#include "attend/text/files/sentencepiece_file.h"
#include "attend/text/json_view.h"

namespace attend::text {

namespace {

constexpr double kUnknownPenalty = 10;  // below the worst token

}  // namespace

Unigram::Unigram(const JsonView& json) {
  read_scores(json["vocab"]);
  const auto unknown = json.find("unk_id");
  has_unknown_ = unknown.has_value();
  if (unknown) {
    if (scores_.empty()) json["vocab"].complain("is empty");
    unknown_.unknown = static_cast<TokenId>(unknown->integer(0, static_cast<std::int64_t>(scores_.size()) - 1));
  }
  if (json.boolean("byte_fallback", false)) unknown_.bytes = find_byte_pieces(vocabulary_);
  std::vector<ByteTrie::Key> keys;
  double worst = std::numeric_limits<double>::infinity();
  for (std::size_t id = 0; id < scores_.size(); ++id) {
    keys.emplace_back(*vocabulary_.token(static_cast<TokenId>(id)), static_cast<std::int32_t>(id));
    worst = std::min(worst, scores_[id]);
  }
  unknown_score_ = worst - kUnknownPenalty;
  trie_ = ByteTrie(std::move(keys));
}

void Unigram::read_scores(const JsonView& json) {
  if (!json.is_array()) json.complain("must be a list");
  const auto& list = json.value();
  scores_.reserve(list.size());
  vocabulary_.reserve(list.size());
  for (std::size_t id = 0; id < list.size(); ++id) {
    const auto& entry = list[id];
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number())
      json.complain("[{}] must be a token and its score", id);
    scores_.push_back(entry[1].get<double>());
    if (!std::isfinite(scores_.back())) json.complain("[{}] has a score that is not a number", id);
    try {
      vocabulary_.add(entry[0].text(), static_cast<TokenId>(id));
    } catch (const Error& error) {
      json.complain("is not usable: {}", error.what());
    }
  }
}

Unigram::Unigram(const SentencePieceFile& file) : sums_in_float_(true) {
  vocabulary_ = sentencepiece_vocabulary(file);
  unknown_.unknown = file.unknown;
  if (file.byte_fallback) unknown_.bytes = find_byte_pieces(vocabulary_);
  float worst = std::numeric_limits<float>::max(), best = std::numeric_limits<float>::min();
  for (const auto& piece : file.pieces) {
    if (piece.type != PieceType::normal) continue;
    worst = std::min(worst, piece.score);
    best = std::max(best, piece.score);
  }
  unknown_score_ = worst - static_cast<float>(kUnknownPenalty);
  std::vector<ByteTrie::Key> keys;
  for (std::size_t id = 0; id < file.pieces.size(); ++id) {
    const auto& piece = file.pieces[id];
    const bool user = piece.type == PieceType::user_defined;
    // What the user defined always wins: it costs nearly nothing.
    scores_.push_back(user ? static_cast<float>(piece.text.size()) * best - 0.1 : static_cast<double>(piece.score));
    if (user || piece.type == PieceType::normal) keys.emplace_back(piece.text, static_cast<std::int32_t>(id));
  }
  trie_ = ByteTrie(std::move(keys));
}

template <class Sum>
void Unigram::find_best(std::string_view word, std::vector<Piece>& out) const {
  struct Node {
    Sum sum = 0;              // of the best way to here
    std::uint32_t bytes = 0;  // of its last token; 0: there is none yet
    TokenId id = -1;
  };
  thread_local std::vector<Node> nodes;
  nodes.assign(word.size() + 1, {});
  const auto offer = [](Node& node, Sum sum, std::uint32_t bytes, TokenId id) {
    if (node.bytes == 0 || sum > node.sum) node = {sum, bytes, id};
  };
  for (std::uint32_t at = 0, length; at < word.size(); at += length) {
    length = static_cast<std::uint32_t>(std::min(utf8_length(word[at]), word.size() - at));
    const Sum here = nodes[at].sum;
    bool single = false;  // a token is just this character
    std::uint32_t node = ByteTrie::kRoot;
    for (std::uint32_t end = at; end < word.size();) {
      node = trie_.step(node, word[end]);
      if (node == ByteTrie::kNone) break;
      ++end;
      const TokenId id = trie_.value(node);
      if (id < 0) continue;
      offer(nodes[end], static_cast<Sum>(scores_[static_cast<std::size_t>(id)]) + here, end - at, id);
      single = single || end - at == length;
    }
    if (!single) offer(nodes[at + length], static_cast<Sum>(unknown_score_) + here, length, unknown_.unknown);
  }
  const std::size_t before = out.size();
  for (std::size_t at = word.size(); at > 0; at -= nodes[at].bytes) out.push_back({nodes[at].id, nodes[at].bytes});
  std::reverse(out.begin() + static_cast<std::ptrdiff_t>(before), out.end());
  constexpr std::size_t kKept = 1 << 16;  // one long text shall not hold its memory for ever
  if (nodes.size() > kKept) nodes = {};
}

void Unigram::tokenize(std::string_view word, WordOptions, std::vector<Piece>& out) const {
  if (word.empty()) return;
  const std::uint64_t hash = hash_text(word);
  if (cache_.find(word, hash, out)) return;
  const std::size_t before = out.size();
  if (sums_in_float_) {
    find_best<float>(word, out);
  } else {
    find_best<double>(word, out);
  }
  for (std::size_t i = before; i < out.size() && !has_unknown_; ++i)
    check(out[i].id >= 0, "encode: the model has no unk_id, and {} has characters that are no token", shown(word));
  unknown_.resolve(word, before, out);
  cache_.insert(word, hash, out.data() + before, out.size() - before);
}

}  // namespace attend::text
