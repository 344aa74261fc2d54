#include "attend/text/models/model.h"

#include <string>
#include <string_view>

#include "attend/text/json_view.h"
#include "attend/text/models/bpe.h"
#include "attend/text/models/unigram.h"
#include "attend/text/models/word_piece.h"

namespace attend::text {

namespace {

// Files from before the type was written show it by what else they have. The order is that of `tokenizers`: what a
// WordLevel has, a WordPiece has too.
std::string_view untyped(const JsonView& json) {
  const auto vocab = json.find("vocab");
  if (!vocab) return "";
  if (json.find("merges")) return "BPE";
  if (vocab->is_array()) return "Unigram";
  if (!json.find("unk_token")) return "";
  return json.find("continuing_subword_prefix") && json.find("max_input_chars_per_word") ? "WordPiece" : "WordLevel";
}

}  // namespace

std::unique_ptr<Model> make_model(const JsonView& json) {
  const auto type = json.find("type");
  const std::string name(type ? type->text() : untyped(json));
  if (name == "BPE") return std::make_unique<Bpe>(json);
  if (name == "WordPiece") return std::make_unique<WordPiece>(json);
  if (name == "Unigram") return std::make_unique<Unigram>(json);
  if (name == "WordLevel") return std::make_unique<WordLevel>(json);
  if (name.empty()) json["type"].text();
  type->complain("is {}, which is not supported", shown(name));
}

}  // namespace attend::text
