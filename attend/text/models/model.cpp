#include "attend/text/models/model.h"

#include "attend/text/json_view.h"
#include "attend/text/models/bpe.h"
#include "attend/text/models/unigram.h"
#include "attend/text/models/word_piece.h"

namespace attend {

namespace {

// Files from before the type was written, and those of many repositories: the type whose members the file has, in the
// order in which Hugging Face's tokenizers tries them.
std::string guess_type(const JsonView& json) {
  const auto vocabulary = json.find("vocab");
  if (json.find("merges")) return "BPE";
  if (!vocabulary) return "";
  if (vocabulary->is_array()) return "Unigram";
  const bool pieces = json.find("continuing_subword_prefix") && json.find("max_input_chars_per_word");
  if (json.find("unk_token")) return pieces ? "WordPiece" : "WordLevel";
  return "";
}

}  // namespace

std::unique_ptr<Model> make_model(const JsonView& json) {
  const auto type = json.find("type");
  const std::string name = type ? type->text() : guess_type(json);
  if (name == "BPE") return std::make_unique<Bpe>(json);
  if (name == "WordPiece") return std::make_unique<WordPiece>(json);
  if (name == "Unigram") return std::make_unique<Unigram>(json);
  if (name == "WordLevel") return std::make_unique<WordLevel>(json);
  if (name.empty()) json["type"].text();
  type->complain("is {}, which is not supported", shown(name));
}

}  // namespace attend
