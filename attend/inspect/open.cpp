// Which inspector a folder needs: its config.json says.

#include "attend/base/json.h"

#include <memory>
#include "attend/inspect/encoder.h"
#include "attend/inspect/inspect.h"
#include "attend/inspect/language.h"
#include "attend/inspect/translation.h"

namespace attend::tasks {

std::unique_ptr<Inspector> open_inspector(const std::filesystem::path& folder, Backend& backend, DType dtype) {
  const Json config = read_json(folder / "config.json");
  const auto found = config.is_object() ? config.find("model_type") : config.end();
  const std::string type = found != config.end() && found->is_string() ? found->get<std::string>() : "";
  if (type == "gpt2") return std::make_unique<LanguageInspector>(folder, backend, dtype);
  if (type == "bert" || type == "roberta" || type == "distilbert")
    return std::make_unique<EncoderInspector>(folder, backend, dtype);
  return std::make_unique<TranslationInspector>(load_translator(folder, backend, dtype), backend);
}

}  // namespace attend::tasks
