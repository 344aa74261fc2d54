// The one table of models: what a config.json describes, and which command it is for. A new model is a file in
// attend/models and a row of the table in catalogue.cpp. If no existing code can compute it, it is also a new Family,
// with a row in each table that family.h lists.
//
//   const catalogue::ModelConfig model = catalogue::read_config("models/bert", catalogue::Task::fill);
//   model.entry->type, model.architecture, model.task     // "bert", "BertForMaskedLM", Task::fill
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "attend/base/json.h"
#include "attend/catalogue/family.h"
#include "attend/catalogue/spelling.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/checkpoint/tensor_file.h"
#include "attend/models/captioner.h"
#include "attend/models/image_model.h"
#include "attend/models/language_model.h"
#include "attend/models/seq2seq.h"
#include "attend/nn/parameters.h"
#include "attend/text/tokenizer.h"

namespace attend::catalogue {

// What a model does, by the name of the command that asks it to.
enum class Task : std::uint8_t {
  translate,
  generate,
  fill,
  classify,
  tag,
  answer,
  embed,
  classify_images,
  embed_images,
  detect,
  describe,
  draw
};
constexpr std::string_view name_of(Task task) {
  constexpr std::string_view kNames[] = {"translate", "generate", "fill",  "classify", "tag",      "answer",
                                         "embed",     "classify", "embed", "detect",   "describe", "draw"};
  return kNames[static_cast<int>(task)];
}

// A head that a family's models may have, by how the name of the class in "architectures" ends.
struct Head {
  std::string_view ending;
  Task task;
};

// How a folder becomes a translator. All throw Error naming what is wrong.
struct TranslatorParts {
  std::unique_ptr<models::Seq2Seq> (*make)(const Json& config, std::string_view what) = nullptr;
  void (*load)(const checkpoint::TensorFile& file, nn::Parameters& parameters) = nullptr;
  // What a translation begins with; none: <s>.
  std::optional<std::int32_t> (*start)(const Json& config, const text::Tokenizer& tokenizer,
                                       std::string_view what) = nullptr;
};

// The line of `attend info` about a model's input. Without a summary its tokenizer says it.
struct Input {
  std::string_view name = "tokenizer";
  std::string (*summary)(const Json& config, std::string_view what) = nullptr;
};

struct Entry {
  std::string_view type;  // "model_type" of config.json
  Family family;
  Task body;                          // what it does without a head, and with any
  std::span<const Head> heads = {};   // what it does with one
  std::string_view prefix = {};       // of the body's names in the file of a model with a head
  std::string_view head = {};         // of the head's names, where the body's have no prefix
  std::string_view input_major = {};  // matrices with this in their names are stored [in, out], all others [out, in]
  // How names of tensors begin, before a dot, by which a file tells its type where config.json does not.
  std::array<std::string_view, 2> known_by = {};
  // Names in files of other ages; null: there are none.
  Spelling (*spelling)(const checkpoint::TensorFiles& files) = nullptr;
  Input input = {};
  bool generation_config = false;  // generation_config.json of its folder says how to search
  bool free_size = false;          // no weight depends on the size of the images
  // Throws Error for a config that the model here cannot be.
  void (*check)(const Json& config, std::string_view what);
  TranslatorParts translator = {};  // of one that translates
  // Of one that generates text.
  std::unique_ptr<models::LanguageModel> (*make_language_model)(const Json& config, std::string_view what) = nullptr;
  // Of one that looks at images.
  std::unique_ptr<models::ImageModel> (*make_image_model)(const Json& config, std::string_view what) = nullptr;
  // Of one that writes about them.
  std::unique_ptr<models::Captioner> (*make_captioner)(const Json& config, std::string_view what) = nullptr;
};

// All there are, in the order in which messages name them.
std::span<const Entry> entries();
// "bert, roberta, ..": the types of all, or of those whose body does a task.
std::string types_of(std::optional<Task> body = {});

// Of the "model_type" of a config; null for one that is not in the table, or no config at all.
const Entry* find(const Json& config);
// Throws Error naming the types there are.
const Entry& entry_of(const Json& config, std::string_view what);

// A config.json with its place in the table, checked.
struct ModelConfig {
  std::string path;  // opens messages
  Json json;
  const Entry* entry;
  std::string architecture;  // "BertForMaskedLM"; empty when the file names none
  Task task;
  bool timm = false;  // json is what we made of timm's config.json (timm.h), and the tensors have timm's names

  bool does(Task wanted) const { return wanted == task || wanted == entry->body; }
};
ModelConfig describe(Json config, std::string path);
ModelConfig read_config(const std::filesystem::path& folder);
// Throws Error when it does something else, saying which command that is. command opens the message: the task's own, or
// another that needs a model of this kind.
ModelConfig read_config(const std::filesystem::path& folder, Task wanted, std::string_view command);
inline ModelConfig read_config(const std::filesystem::path& folder, Task wanted) {
  return read_config(folder, wanted, name_of(wanted));
}

// How the files of its folder become its parameters: their names there. new_head is up to the caller.
checkpoint::HuggingFaceOptions load_options(const ModelConfig& model, const checkpoint::TensorFiles& files);

// A model that looks at images, from its config.
std::unique_ptr<models::ImageModel> make_image_model(const Json& config, std::string_view what);

// A model that writes about images, from its config (captioners.h).
std::unique_ptr<models::Captioner> make_captioner(const Json& config, std::string_view what);

// A model that generates text, from its config.
std::unique_ptr<models::LanguageModel> make_language_model(const Json& config, std::string_view what);

// A model that translates, from its config.
std::unique_ptr<models::Seq2Seq> make_seq2seq(const Json& config, std::string_view what);

}  // namespace attend::catalogue
