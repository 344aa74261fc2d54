// From text files to a BERT or RoBERTa folder that attend fill, fine-tuning and Hugging Face's transformers read.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <ostream>

#include "attend/base/error.h"
#include "attend/base/fields.h"
#include "attend/base/files.h"
#include "attend/base/progress.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/training/masked_recipe.h"
#include "attend/training/masked_task.h"
#include "attend/training/start_folder.h"

namespace attend::tasks {

namespace {

namespace fs = std::filesystem;
using models::BertFamily;

BertFamily family_of(const MaskedRecipe& recipe) {
  return recipe.model == "roberta" ? BertFamily::roberta : BertFamily::bert;
}

void prepare_tokenizer(const MaskedRecipe& recipe, const train::RunFolder& folder, const TrainOptions& options) {
  if (folder.resumed()) return;
  const fs::path out = folder.prepared();
  if (!recipe.tokenizer.empty()) return copy_tokenizer(recipe.tokenizer, out);
  if (!recipe.from.empty()) return copy_tokenizer(start_folder(recipe.from, recipe.out), out);
  learn_tokenizer({.family = family_of(recipe),
                   .texts = recipe.text,
                   .vocabulary_size = recipe.vocabulary_size,
                   .max_length = recipe.max_length,
                   .threads = static_cast<int>(recipe.threads)},
                  out, options);
}

models::BertConfig new_config(const MaskedRecipe& recipe, const Tokenizer& tokenizer) {
  const SpecialTokens special = special_tokens(tokenizer, recipe.out);
  const BertFamily family = family_of(recipe);
  const bool roberta = family == BertFamily::roberta;
  return {.family = family,
          .vocabulary = (tokenizer.id_limit() + 63) / 64 * 64,  // GPU products like it round
          // RoBERTa's first position is the one behind the padding's.
          .max_length = recipe.max_length + (roberta ? special.pad + 1 : 0),
          .types = roberta ? 1 : 2,
          .width = recipe.width,
          .layers = recipe.layers,
          .heads = recipe.heads,
          .hidden = recipe.hidden > 0 ? recipe.hidden : 4 * recipe.width,
          .dropout = recipe.dropout,
          .attention_dropout = recipe.dropout,
          .norm_eps = roberta ? 1e-5f : 1e-12f,
          .start = roberta ? special.start : -1,
          .end = roberta ? special.end : -1,
          .pad = special.pad};
}

models::BertConfig config_of(const MaskedRecipe& recipe, const Tokenizer& tokenizer, const TrainOptions& options) {
  if (!options.resume && recipe.from.empty()) return new_config(recipe, tokenizer);
  const fs::path path = (options.resume ? fs::path(recipe.out) : start_folder(recipe.from, recipe.out)) / "config.json";
  models::BertConfig config = models::bert_config(read_json(path), path.string());
  config.labels.clear(), config.regression = false;
  config.dropout = config.attention_dropout = recipe.dropout;
  check(tokenizer.id_limit() <= config.vocabulary, "{}: the tokenizer has ids up to {}, the model only {} tokens",
        path.string(), tokenizer.id_limit() - 1, config.vocabulary);
  return config;
}

}  // namespace

train::TrainingResult train_masked_model(const MaskedRecipe& recipe, Backend& backend, const TrainOptions& options) {
  check(!recipe.text.empty() && !recipe.valid_text.empty() && !recipe.out.empty(),
        "training: 'text', 'valid_text' and 'out' are needed");
  if (!recipe.from.empty()) start_folder(recipe.from, recipe.out);
  std::vector<train::DataFile> data = data_files("text", recipe.text);
  std::ranges::copy(data_files("valid_text", recipe.valid_text), std::back_inserter(data));
  train::RunFolder folder(run_request(recipe, write_fields(recipe), std::move(data), options));
  prepare_tokenizer(recipe, folder, options);
  const Tokenizer tokenizer = Tokenizer::load(folder.prepared());
  const SpecialTokens special = special_tokens(tokenizer, recipe.out);
  check(special.mask >= 0, "{}: the tokenizer has neither [MASK] nor <mask>", recipe.out);
  models::MaskedLanguageModel model(config_of(recipe, tokenizer, options));
  const models::BertConfig& config = model.body().config();
  const std::int64_t first = config.family == BertFamily::roberta ? config.pad + 1 : 0;
  check(recipe.block <= config.max_length - first, "training: 'block' is {}, but the model reads {} tokens",
        recipe.block, config.max_length - first);

  const auto token_stream = [&](const std::vector<std::string>& texts, const char* name) {
    const auto [found, made] = folder.derived(name);
    return data::TokenStream::open_or_build({.texts = texts,
                                             .tokenizer = tokenizer_file(folder.prepared()),
                                             .cache = found,
                                             .rebuilt = made,
                                             .line_end = special.end});
  };
  const auto training = token_stream(recipe.text, "train.tokens"),
             validation = token_stream(recipe.valid_text, "valid.tokens");
  options.messages << fmt::format("training text: {} tokens; validation text: {} tokens\n",
                                  with_commas(training.size()), with_commas(validation.size()));
  const data::MaskingOptions masking{.block = recipe.block,
                                     .share = static_cast<double>(recipe.masked),
                                     .start = special.start,
                                     .end = special.end,
                                     .mask = special.mask,
                                     .ordinary = ordinary_tokens(tokenizer),
                                     .seed = recipe.seed};
  const data::MaskedText training_blocks(training, masking), validation_blocks(validation, masking);

  const nn::ParametersOptions computed = parameters_options(recipe, backend);
  const DType dtype = computed.dtype;
  nn::Parameters parameters(backend, model, computed);
  if (!recipe.from.empty() && !options.resume)
    load_hugging_face(TensorFiles::open(start_folder(recipe.from, recipe.out)), parameters,
                      {.prefix = models::name_of(config.family), .new_head = true});
  Json json = model.config();
  json["dtype"] = dtype == DType::bf16 ? "bfloat16" : "float32";
  folder.stage("config.json", json.dump(2) + "\n");
  folder.stage("recipe.json", write_fields(recipe).dump(2) + "\n");
  options.messages << fmt::format("{} with {:.1f} M weights, {} on {}\n", models::name_of(config.family),
                                  static_cast<double>(parameters.count()) / 1e6, name_of(dtype), backend.name());
  MaskedTask task(model, backend, training_blocks, validation_blocks, masking, recipe.batch, tokenizer);
  return train::train(task, parameters, trainer_options(recipe, config.width, folder, options));
}

}  // namespace attend::tasks
