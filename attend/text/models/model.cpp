#include "attend/text/models/model.h"

#include "attend/text/json_view.h"
#include "attend/text/models/bpe.h"
#include "attend/text/models/unigram.h"
#include "attend/text/models/word_piece.h"

namespace attend {

std::unique_ptr<Model> make_model(const JsonView& json) {
  // Files from before the type was written show it by what else they have.
  const auto type = json.find("type");
  const auto guess = [&] { return json.find("merges") ? "BPE" : json.find("unk_id") ? "Unigram" : ""; };
  const std::string name = type ? type->text() : guess();
  if (name == "BPE") return std::make_unique<Bpe>(json);
  if (name == "WordPiece") return std::make_unique<WordPiece>(json);
  if (name == "Unigram") return std::make_unique<Unigram>(json);
  if (name == "WordLevel") return std::make_unique<WordLevel>(json);
  if (name.empty()) json["type"].text();
  type->complain("is {}, which is not supported", shown(name));
}

}  // namespace attend
