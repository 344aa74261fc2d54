// What looks at a folder, and where the parts of its model are: its config.json says, by the catalogue.
#include <memory>

#include "attend/base/error.h"
#include "attend/catalogue/catalogue.h"
#include "attend/look/inspect/anatomy.h"
#include "attend/look/inspect/encoder.h"
#include "attend/look/inspect/inspect.h"
#include "attend/look/inspect/language.h"
#include "attend/look/inspect/translation.h"
#include "attend/models/sagan.h"

namespace attend::look {

namespace {

struct Look {
  std::unique_ptr<Inspector> (*open)(const std::filesystem::path& folder, Backend& backend, DType dtype);
  Anatomy (*anatomy)(const Json& config, const std::string& what);
};

std::unique_ptr<Inspector> open_encoder(const std::filesystem::path& folder, Backend& backend, DType dtype) {
  return std::make_unique<EncoderInspector>(folder, backend, dtype);
}
std::unique_ptr<Inspector> open_language(const std::filesystem::path& folder, Backend& backend, DType dtype) {
  return std::make_unique<LanguageInspector>(folder, backend, dtype);
}
std::unique_ptr<Inspector> open_translation(const std::filesystem::path& folder, Backend& backend, DType dtype) {
  return std::make_unique<TranslationInspector>(tasks::load_translator(folder, backend, dtype), backend);
}

std::unique_ptr<Inspector> open_no_text(const std::filesystem::path& folder, Backend&, DType) {
  fail("look: the model in {} reads images, not text", folder.string());
}

Look look_at(const catalogue::Entry& entry) {
  switch (entry.family) {
    case catalogue::Family::bert:
      return {open_encoder, [](const Json& config, const std::string& what) {
                return anatomy_of(models::bert_config(config, what), "");
              }};
    case catalogue::Family::gpt2:
      return {open_language, [](const Json& config, const std::string& what) {
                return anatomy_of(models::gpt2_config(config, what), "");
              }};
    case catalogue::Family::marian:
    case catalogue::Family::seq2seq:
      return {open_translation, [](const Json& config, const std::string& what) {
                return anatomy_of(*catalogue::make_seq2seq(config, what));
              }};
    case catalogue::Family::images:
      return {open_no_text, [](const Json& config, const std::string& what) {
                const auto model = catalogue::make_image_model(config, what);
                return anatomy_of(model->attention_places(), model->parameters());
              }};
    case catalogue::Family::sagan:
      return {open_no_text, [](const Json& config, const std::string& what) {
                return anatomy_of(models::Sagan(models::sagan_config(config, what)).attention_places(), {});
              }};
    case catalogue::Family::detr:
    case catalogue::Family::captions:
      return {open_no_text, [](const Json&, const std::string&) { return Anatomy{}; }};
  }
  fail("look: nothing shows a {}", entry.type);
}

}  // namespace

EncoderStates Inspector::states(const StatesRequest&) { fail("this model has no encoder"); }

std::vector<std::string> Inspector::answers(std::span<const std::string>) { fail("this model does not translate"); }

std::unique_ptr<Inspector> open_inspector(const std::filesystem::path& folder, Backend& backend, DType dtype) {
  return look_at(*catalogue::read_config(folder).entry).open(folder, backend, dtype);
}

Anatomy anatomy_of(const Json& config, const std::string& what) {
  return look_at(catalogue::entry_of(config, what)).anatomy(config, what);
}

}  // namespace attend::look
