#include "attend/look/inspect/open.h"

#include "attend/base/error.h"
#include "attend/catalogue/catalogue.h"
#include "attend/look/inspect/anatomy.h"
#include "attend/look/inspect/encoder.h"
#include "attend/look/inspect/language.h"
#include "attend/look/inspect/translation.h"
#include "attend/models/sagan.h"
#include "attend/models/text_rnn.h"

namespace attend::look {

namespace {

using catalogue::Family;

OpenedModel open_encoder(const std::filesystem::path& folder, Backend& backend, DType dtype) {
  return {.text = std::make_unique<EncoderInspector>(folder, backend, dtype)};
}
Anatomy encoder_anatomy(const Json& config, const std::string& what) {
  return anatomy_of(models::bert_config(config, what), "");
}

OpenedModel open_language(const std::filesystem::path& folder, Backend& backend, DType dtype) {
  return {.text = std::make_unique<LanguageInspector>(folder, backend, dtype)};
}
Anatomy language_anatomy(const Json& config, const std::string& what) {
  return anatomy_of(models::gpt2_config(config, what), "");
}

Anatomy rnn_anatomy(const Json& config, const std::string& what) {
  return {.family = "rnn", .width = models::text_rnn_config(config, what).width};
}

OpenedModel open_translation(const std::filesystem::path& folder, Backend& backend, DType dtype) {
  return {.text = std::make_unique<TranslationInspector>(tasks::load_translator(folder, backend, dtype), backend)};
}
Anatomy translation_anatomy(const Json& config, const std::string& what) {
  return anatomy_of(*catalogue::make_seq2seq(config, what));
}

OpenedModel open_images(const std::filesystem::path& folder, Backend& backend, DType dtype) {
  return {.images = std::make_unique<ImageInspector>(folder, backend, dtype)};
}
Anatomy image_anatomy(const Json& config, const std::string& what) {
  const auto model = catalogue::make_image_model(config, what);
  return anatomy_of(model->attention_places(), model->parameters());
}

OpenedModel open_detector(const std::filesystem::path& folder, Backend& backend, DType dtype) {
  return {.detector = std::make_unique<tasks::Detector>(folder, backend, nn::ModelFormat{dtype})};
}
OpenedModel open_describer(const std::filesystem::path& folder, Backend& backend, DType dtype) {
  return {.describer = tasks::load_describer(folder, backend, nn::ModelFormat{dtype})};
}
// Their attention comes with what they find or write.
Anatomy no_anatomy(const Json&, const std::string&) { return {}; }

OpenedModel open_drawings(const std::filesystem::path& folder, Backend& backend, DType dtype) {
  return {.drawings = std::make_unique<DrawingInspector>(folder, backend, dtype)};
}
Anatomy drawing_anatomy(const Json& config, const std::string& what) {
  return anatomy_of(models::Sagan(models::sagan_config(config, what)).attention_places(), {});
}

// How a family's folder is opened, and what its config.json says about the parts of the model.
struct FamilyLook {
  Family family;
  OpenedModel (*open)(const std::filesystem::path& folder, Backend& backend, DType dtype);
  Anatomy (*anatomy)(const Json& config, const std::string& what);
};
constexpr catalogue::FamilyTable<FamilyLook> kFamilyLooks({{Family::bert, open_encoder, encoder_anatomy},
                                                           {Family::gpt2, open_language, language_anatomy},
                                                           {Family::text_rnn, open_language, rnn_anatomy},
                                                           {Family::marian, open_translation, translation_anatomy},
                                                           {Family::seq2seq, open_translation, translation_anatomy},
                                                           {Family::images, open_images, image_anatomy},
                                                           {Family::detr, open_detector, no_anatomy},
                                                           {Family::captions, open_describer, no_anatomy},
                                                           {Family::sagan, open_drawings, drawing_anatomy}});

}  // namespace

EncoderStates Inspector::states(const StatesRequest&) { fail("this model has no encoder"); }

std::vector<std::string> Inspector::answers(std::span<const std::string>) { fail("this model does not translate"); }

OpenedModel open_model(const std::filesystem::path& folder, Backend& backend, DType dtype) {
  return kFamilyLooks[catalogue::read_config(folder).entry->family].open(folder, backend, dtype);
}

std::unique_ptr<Inspector> open_inspector(const std::filesystem::path& folder, Backend& backend, DType dtype) {
  OpenedModel opened = open_model(folder, backend, dtype);
  check(opened.text != nullptr, "look: the model in {} reads images, not text", folder.string());
  return std::move(opened.text);
}

Anatomy anatomy_of(const Json& config, const std::string& what) {
  return kFamilyLooks[catalogue::entry_of(config, what).family].anatomy(config, what);
}

}  // namespace attend::look
