// From a text file to a GPT-2 folder that attend generate and Hugging Face's transformers read.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <ostream>

#include "attend/base/error.h"
#include "attend/base/fields.h"
#include "attend/base/files.h"
#include "attend/text/learn/bpe_trainer.h"
#include "attend/text/tokenizer.h"
#include "attend/training/language_recipe.h"
#include "attend/training/language_task.h"
#include "attend/training/start_folder.h"

namespace attend::tasks {

namespace {

constexpr const char* kEndOfText = "<|endoftext|>";

void prepare_tokenizer(const LanguageRecipe& recipe, train::RunFolder& folder) {
  if (folder.resumed()) return;
  if (!recipe.tokenizer.empty()) return folder.stage("tokenizer.json", given_tokenizer(recipe.tokenizer));
  // The 256 bytes and the end mark alone are a model of characters.
  const auto size = static_cast<std::size_t>(recipe.vocabulary_size > 0 ? recipe.vocabulary_size : 257);
  BpeTrainer trainer({.vocabulary_size = size,
                      .special_tokens = {kEndOfText},
                      .words = {.line_ends = true},
                      .threads = static_cast<int>(recipe.threads)});
  for (const std::string& text : recipe.text) trainer.add_file(text);
  folder.stage("tokenizer.json", to_tokenizer_json(trainer.train()));
}

data::TokenStream token_stream(const std::vector<std::string>& texts, const char* name,
                               const train::RunFolder& folder) {
  const auto [found, made] = folder.derived(name);
  return data::TokenStream::open_or_build(
      {.texts = texts, .tokenizer = folder.prepared() / "tokenizer.json", .cache = found, .rebuilt = made});
}

}  // namespace

train::TrainingResult train_language_model(const LanguageRecipe& recipe, Backend& backend,
                                           const TrainOptions& options) {
  check(!recipe.text.empty() && !recipe.valid_text.empty() && !recipe.out.empty(),
        "training: 'text', 'valid_text' and 'out' are needed");
  std::vector<train::DataFile> data = data_files("text", recipe.text);
  std::ranges::copy(data_files("valid_text", recipe.valid_text), std::back_inserter(data));
  train::RunFolder folder(run_request(recipe, write_fields(recipe), std::move(data), options));
  prepare_tokenizer(recipe, folder);
  const Tokenizer tokenizer = Tokenizer::load(folder.prepared() / "tokenizer.json");
  const auto training = token_stream(recipe.text, "train.tokens", folder),
             validation = token_stream(recipe.valid_text, "valid.tokens", folder);
  options.messages << fmt::format("training text: {} tokens; validation text: {} tokens\n", training.size(),
                                  validation.size());

  const std::int64_t vocabulary = (tokenizer.id_limit() + 63) / 64 * 64;  // GPU products like it round
  const std::int64_t end = tokenizer.token_to_id(kEndOfText).value_or(0);
  models::GPT2LanguageModel model(model_config(recipe, vocabulary, end));
  const nn::ParametersOptions computed = parameters_options(recipe, backend);
  const DType dtype = computed.dtype;
  nn::Parameters parameters(backend, model, computed);
  folder.stage("config.json", model.config().dump(2) + "\n");
  folder.stage("recipe.json", write_fields(recipe).dump(2) + "\n");
  options.messages << fmt::format("gpt2 with {:.1f} M weights, {} on {}\n",
                                  static_cast<double>(parameters.count()) / 1e6, name_of(dtype), backend.name());
  LanguageTask task(model, backend, training, validation,
                    {.batch = recipe.batch, .block = recipe.block, .seed = recipe.seed, .tokenizer = &tokenizer});
  return train::train(task, parameters, trainer_options(recipe, recipe.width, folder, options));
}

}  // namespace attend::tasks
