#include "attend/text/model.h"

#include "attend/text/bpe.h"
#include "attend/text/json_view.h"

namespace attend {

std::unique_ptr<Model> make_model(const JsonView& json) {
  // Files from before the type was written are BPE when they have merges.
  const auto type = json.find("type");
  const std::string name = type ? type->text() : json.find("merges") ? "BPE" : "";
  if (name == "BPE") return std::make_unique<Bpe>(json);
  if (name.empty()) json["type"].text();
  type->complain("is {}, which is not supported", shown(name));
}

}  // namespace attend
