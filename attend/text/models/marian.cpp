#include "attend/text/models/marian.h"

#include <algorithm>

#include "attend/base/unicode/unicode.h"

namespace attend::text {

MarianModel::MarianModel(std::unique_ptr<Model> pieces, Vocabulary vocabulary) : pieces_(std::move(pieces)) {
  vocabulary_ = std::move(vocabulary);
  unknown_ = vocabulary_.find("<unk>").value();
  const Vocabulary& own = pieces_->vocabulary();
  for (TokenId id = 0; id <= own.largest_id(); ++id)
    ids_.push_back(own.token(id) ? vocabulary_.find(*own.token(id)).value_or(unknown_) : unknown_);
}

void MarianModel::tokenize(std::string_view text, WordOptions options, std::vector<Piece>& out) const {
  const std::size_t before = out.size();
  pieces_->tokenize(text, options, out);
  std::size_t at = 0;
  for (std::size_t i = before; i < out.size(); ++i) {
    // The vocabulary may know what SentencePiece does not.
    const bool spelled = pieces_->spells_out(out[i].id);
    out[i].id = spelled ? vocabulary_.find(text.substr(at, out[i].bytes)).value_or(unknown_)
                        : ids_[static_cast<std::size_t>(out[i].id)];
    at += out[i].bytes;
  }
}

std::vector<std::string> MarianDecoder::apply(std::vector<std::string> tokens) const {
  std::string text;
  std::vector<std::string> run;
  const auto flush = [&] {
    for (const std::string& part : pieces_->apply(std::move(run))) text += part;
    run.clear();
  };
  for (std::string& token : tokens) {
    if (std::ranges::find(kMarianSpecialTokens, token) == std::end(kMarianSpecialTokens)) {
      run.push_back(std::move(token));
      continue;
    }
    flush();
    text += token + " ";
  }
  flush();
  // White space at the ends is nobody's.
  std::size_t begin = text.size(), end = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t here = at;
    if (has_property(next_character(text, at), Property::white_space)) continue;
    begin = std::min(begin, here);
    end = at;
  }
  return {begin < end ? text.substr(begin, end - begin) : ""};
}

}  // namespace attend::text
