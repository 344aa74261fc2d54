#include "attend/catalogue/catalogue.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/joined.h"
#include "attend/base/paths.h"
#include "attend/catalogue/captioners.h"
#include "attend/catalogue/detr_names.h"
#include "attend/catalogue/incomplete_config.h"
#include "attend/catalogue/input_summary.h"
#include "attend/catalogue/marian.h"
#include "attend/catalogue/timm.h"
#include "attend/checkpoint/model_file.h"
#include "attend/models/bert.h"
#include "attend/models/detr.h"
#include "attend/models/gpt2.h"
#include "attend/models/hugging_face_config.h"
#include "attend/models/mvit.h"
#include "attend/models/resnet.h"
#include "attend/models/resnet9.h"
#include "attend/models/rnn_seq2seq.h"
#include "attend/models/sagan.h"
#include "attend/models/swin.h"
#include "attend/models/text_rnn.h"
#include "attend/models/transformer.h"
#include "attend/models/vit.h"

namespace attend::catalogue {

namespace {

using MakeOwn = std::unique_ptr<models::Seq2Seq> (*)(const Json& settings, std::string_view what);

constexpr Head kBertHeads[] = {{"ForMaskedLM", Task::fill},
                               {"ForPreTraining", Task::fill},
                               {"ForSequenceClassification", Task::classify},
                               {"ForTokenClassification", Task::tag},
                               {"ForQuestionAnswering", Task::answer}};

constexpr Entry bert(models::BertFamily family) {
  return {.type = models::name_of(family),
          .family = Family::bert,
          .body = Task::embed,
          .heads = kBertHeads,
          .prefix = models::prefix_of(family),
          .known_by = {models::prefix_of(family)},
          .check = [](const Json& config, std::string_view what) { models::bert_config(config, what); }};
}

constexpr Head kLanguageHeads[] = {{"ForSequenceClassification", Task::classify}};

template <class Model, auto read>
std::unique_ptr<models::LanguageModel> make_language(const Json& config, std::string_view what) {
  return std::make_unique<Model>(read(config, what));
}

constexpr Entry gpt2(std::string_view type) {
  return {.type = type,
          .family = Family::gpt2,
          .body = Task::generate,
          .heads = kLanguageHeads,
          .prefix = models::kGPT2Prefix,
          .input_major = ".c_",
          .known_by = {"transformer.h", "h.0.attn.c_attn"},
          .check = [](const Json& config, std::string_view what) { models::gpt2_config(config, what); },
          .make_language_model = make_language<models::GPT2LanguageModel, models::gpt2_config>};
}

constexpr Entry text_rnn(std::string_view type) {
  return {.type = type,
          .family = Family::text_rnn,
          .body = Task::generate,
          .heads = kLanguageHeads,
          .head = "score",
          .check = [](const Json& config, std::string_view what) { models::text_rnn_config(config, what); },
          .make_language_model = make_language<models::RnnLanguageModel, models::text_rnn_config>};
}

std::unique_ptr<models::Seq2Seq> make_marian(const Json& config, std::string_view what) {
  return std::make_unique<models::Transformer>(marian_config(config, what));
}
std::optional<std::int32_t> start_of_marian(const Json& config, const text::Tokenizer& tokenizer,
                                            std::string_view what) {
  return marian_start(config, tokenizer, what);
}
constexpr Entry marian(std::string_view type) {
  return {.type = type,
          .family = Family::marian,
          .body = Task::translate,
          .generation_config = true,
          .check = [](const Json& config, std::string_view what) { marian_config(config, what); },
          .translator = {make_marian, load_marian_weights, start_of_marian}};
}

constexpr Head kImageHeads[] = {{"ForImageClassification", Task::classify_images},
                                {"ForImageClassificationWithTeacher", Task::classify_images}};

// Config from json by read, model from config.
struct ImageNames {
  bool free_size = false;
  std::string_view head = {};  // of the head, where the body's names have no prefix
};
template <class Model, auto read>
constexpr Entry images(std::string_view type, ImageNames names = {}) {
  return {.type = type,
          .family = Family::images,
          .body = Task::embed_images,
          .heads = kImageHeads,
          .prefix = names.head.empty() ? type : std::string_view(),
          .head = names.head,
          .known_by = {names.head.empty() ? type : std::string_view()},
          .input = {"images", image_input},
          .free_size = names.free_size,
          .check = [](const Json& config, std::string_view what) { read(config, what); },
          .make_image_model = [](const Json& config, std::string_view what) -> std::unique_ptr<models::ImageModel> {
            return std::make_unique<Model>(read(config, what));
          }};
}

constexpr Head kDetrHeads[] = {{"ForObjectDetection", Task::detect}};

constexpr Entry detr(std::string_view type) {
  return {.type = type,
          .family = Family::detr,
          .body = Task::detect,
          .heads = kDetrHeads,
          .prefix = "model",
          .known_by = {"model.backbone"},
          .spelling = detr_spelling,
          .input = {"images", detection_input},
          .check = [](const Json& config, std::string_view what) { models::detr_config(config, what); }};
}

template <auto make>
constexpr Entry captioner(std::string_view type) {
  return {.type = type,
          .family = Family::captions,
          .body = Task::describe,
          .input_major = ".c_",
          .generation_config = make != make_own_captioner,  // ours has none
          .check = [](const Json& config, std::string_view what) { make(config, what); },
          .make_captioner = make};
}

constexpr Entry sagan(std::string_view type) {
  return {.type = type,
          .family = Family::sagan,
          .body = Task::draw,
          .input = {"drawings", generator_input},
          .check = [](const Json& config, std::string_view what) { models::sagan_config(config, what); }};
}

// Our own config.json is the model's settings behind its type.
template <MakeOwn make>
std::unique_ptr<models::Seq2Seq> make_own(const Json& config, std::string_view what) {
  check(config.is_object(), "{}: expected a JSON object", what);
  Json settings = config;
  settings.erase("model_type");
  return make(settings, what);
}
std::optional<std::int32_t> start_of_own(const Json& config, const text::Tokenizer& tokenizer, std::string_view what) {
  const auto named = config.find("start_token");
  if (named == config.end()) return std::nullopt;
  const auto token = named->get<std::string>();
  const auto id = tokenizer.token_to_id(token);
  check(id.has_value(), "{}: 'start_token' is {}, which the tokenizer does not know", what, token);
  return *id;
}
template <MakeOwn make>
constexpr Entry own(std::string_view type) {
  return {.type = type,
          .family = Family::seq2seq,
          .body = Task::translate,
          .check = [](const Json& config, std::string_view what) { make_own<make>(config, what); },
          .translator = {make_own<make>, checkpoint::load_weights, start_of_own}};
}

// The table.
constexpr Entry kEntries[] = {
    bert(models::BertFamily::bert),
    bert(models::BertFamily::roberta),
    bert(models::BertFamily::xlm_roberta),
    bert(models::BertFamily::mpnet),
    bert(models::BertFamily::distilbert),
    bert(models::BertFamily::longformer),
    gpt2("gpt2"),
    text_rnn("text_rnn"),
    marian("marian"),
    own<models::make_transformer>("transformer"),
    own<models::make_rnn>("rnn"),
    images<models::ViTClassifier, models::vit_config>("vit"),
    images<models::ViTClassifier, models::vit_config>("deit"),
    images<models::ViTClassifier, models::vit_config>("vit_conv"),
    images<models::ViTClassifier, models::vit_config>("vit_hybrid"),
    images<models::SwinClassifier, models::swin_config>("swin", {.free_size = true}),
    images<models::MViTClassifier, models::mvit_config>("mvit", {.head = models::MViT::kHead}),
    images<models::ResNetClassifier, models::resnet_config>("resnet", {.free_size = true}),
    images<models::ResNet9Classifier, models::resnet9_config>("resnet9"),
    detr("detr"),
    captioner<make_own_captioner>("captioner"),
    captioner<make_vision_encoder_decoder>("vision-encoder-decoder"),
    sagan("sagan"),
};

Task task_of(const Entry& entry, const std::string& architecture) {
  const auto head =
      std::ranges::find_if(entry.heads, [&](const Head& each) { return architecture.ends_with(each.ending); });
  return head == entry.heads.end() ? entry.body : head->task;
}

}  // namespace

std::span<const Entry> entries() { return kEntries; }

std::string types_of(std::optional<Task> body) {
  std::vector<std::string_view> types;
  for (const Entry& entry : kEntries)
    if (!body || entry.body == *body) types.push_back(entry.type);
  return joined(types, ", ");
}

const Entry* find(const Json& config) {
  const Json* type = config.is_object() ? config.find("model_type") : config.end();
  if (type == config.end() || !type->is_string()) return nullptr;
  const auto entry = std::ranges::find(kEntries, std::string_view(type->get<std::string>()), &Entry::type);
  return entry == std::end(kEntries) ? nullptr : entry;
}

const Entry& entry_of(const Json& config, std::string_view what) {
  if (const Entry* entry = find(config)) return *entry;
  check(config.is_object() && config.contains("model_type"),
        "{}: no 'model_type', so this is not the config.json of a model; known are {}", what, types_of());
  const Json& type = *config.find("model_type");
  fail("{}: model_type '{}' is not known; known are {}", what, type.is_string() ? type.get<std::string>() : type.dump(),
       types_of());
}

ModelConfig describe(Json config, std::string path) {
  const bool timm = is_timm(config);
  if (timm)
    config = timm_config(config, checkpoint::TensorFiles::open(std::filesystem::path(path).parent_path()), path);
  const Entry& entry = entry_of(config, path);
  entry.check(config, path);
  std::string architecture = models::architecture_of(config, path);
  const Task task = task_of(entry, architecture);
  return {std::move(path), std::move(config), &entry, std::move(architecture), task, timm};
}

namespace {
// A sentence-transformers folder is for vectors, whatever head config.json names: the head's weights are not in it.
bool pools_sentences(const std::filesystem::path& folder) {
  if (!path_exists(folder / "modules.json")) return false;
  const Json modules = read_json(folder / "modules.json");
  return modules.is_array() && std::ranges::any_of(modules, [](const Json& module) {
           const Json* type = module.is_object() ? module.find("type") : module.end();
           return module.is_object() && type != module.end() && type->is_string() &&
                  type->get<std::string>().ends_with(".Pooling");
         });
}
}  // namespace

ModelConfig read_config(const std::filesystem::path& folder) {
  ModelConfig model =
      describe(completed_config(read_json(folder / "config.json"), folder), (folder / "config.json").string());
  if (model.entry->body == Task::embed && pools_sentences(folder)) model.task = Task::embed;
  return model;
}

ModelConfig read_config(const std::filesystem::path& folder, Task wanted, std::string_view command) {
  ModelConfig model = read_config(folder);
  if (model.does(wanted)) return model;
  const std::string head = !model.architecture.empty()   ? fmt::format(" (it is a {})", model.architecture)
                           : !model.entry->heads.empty() ? " (its config.json names no architecture)"
                                                         : "";
  if (command == "train")
    fail("train: {} is a {} for {}, and cannot be the start ('from') of a model for {}{}", folder.string(),
         model.entry->type, name_of(model.task), name_of(wanted), head);
  fail("{}: {} is a {} for {}; use attend {}{}", command, folder.string(), model.entry->type, name_of(model.task),
       name_of(model.task), head);
}

checkpoint::HuggingFaceOptions load_options(const ModelConfig& model, const checkpoint::TensorFiles& files) {
  checkpoint::HuggingFaceOptions options{.prefix = std::string(model.entry->prefix),
                                         .head = std::string(model.entry->head)};
  if (model.timm) options.spelling = timm_spelling(model.entry->type, files);
  if (model.entry->spelling) options.spelling = model.entry->spelling(files);
  return options;
}

std::unique_ptr<models::ImageModel> make_image_model(const Json& config, std::string_view what) {
  const Entry& entry = entry_of(config, what);
  check(entry.make_image_model != nullptr, "{}: model_type '{}' does not look at images; there are {}", what,
        entry.type, types_of(Task::embed_images));
  return entry.make_image_model(config, what);
}

std::unique_ptr<models::Captioner> make_captioner(const Json& config, std::string_view what) {
  const Entry& entry = entry_of(config, what);
  check(entry.make_captioner != nullptr, "{}: model_type '{}' does not write about images; there are {}", what,
        entry.type, types_of(Task::describe));
  return entry.make_captioner(config, what);
}

std::unique_ptr<models::LanguageModel> make_language_model(const Json& config, std::string_view what) {
  const Entry& entry = entry_of(config, what);
  check(entry.make_language_model != nullptr, "{}: model_type '{}' does not generate text; there are {}", what,
        entry.type, types_of(Task::generate));
  return entry.make_language_model(config, what);
}

std::unique_ptr<models::Seq2Seq> make_seq2seq(const Json& config, std::string_view what) {
  const Entry& entry = entry_of(config, what);
  check(entry.translator.make != nullptr, "{}: model_type '{}' does not translate; there are {}", what, entry.type,
        types_of(Task::translate));
  return entry.translator.make(config, what);
}

}  // namespace attend::catalogue
