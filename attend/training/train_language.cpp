// From a text file to a GPT-2 folder that attend generate and Hugging Face's transformers read.
#include <fmt/core.h>

#include <ostream>

#include "attend/base/fields.h"
#include "attend/text/learn/bpe_trainer.h"
#include "attend/text/tokenizer.h"
#include "attend/training/language_recipe.h"
#include "attend/training/language_task.h"
#include "attend/training/start_folder.h"
#include "attend/training/text_files.h"
#include "attend/training/trainings.h"

namespace attend::tasks {

namespace {

constexpr const char* kEndOfText = "<|endoftext|>";

Tokenizer prepare_tokenizer(const LanguageRecipe& recipe, train::RunFolder& folder) {
  if (!folder.resumed() && !recipe.tokenizer.empty()) {
    folder.stage("tokenizer.json", given_tokenizer(recipe.tokenizer));
  } else if (!folder.resumed()) {
    // The 256 bytes and the end mark alone are a model of characters.
    const auto size = static_cast<std::size_t>(recipe.vocabulary_size > 0 ? recipe.vocabulary_size : 257);
    BpeTrainer trainer({.vocabulary_size = size,
                        .special_tokens = {kEndOfText},
                        .words = {.line_ends = true},
                        .threads = static_cast<int>(recipe.threads)});
    for (const std::string& text : recipe.text) trainer.add_file(text);
    folder.stage("tokenizer.json", to_tokenizer_json(trainer.train()));
  }
  return Tokenizer::load(folder.prepared() / "tokenizer.json");
}

models::GPT2Config config_for(const LanguageRecipe& recipe, const Tokenizer& tokenizer) {
  const std::int64_t vocabulary = (tokenizer.id_limit() + 63) / 64 * 64;  // GPU products like it round
  return model_config(recipe, vocabulary, tokenizer.token_to_id(kEndOfText).value_or(0));
}

class LanguageTrainee : public Trainee {
 public:
  LanguageTrainee(LanguageRecipe recipe, const RunContext& run)
      : recipe_(std::move(recipe)),
        backend_(run.backend),
        tokenizer_(prepare_tokenizer(recipe_, run.folder)),
        model_(config_for(recipe_, tokenizer_)),
        training_(token_stream(run.folder, recipe_.text, "train.tokens")),
        validation_(token_stream(run.folder, recipe_.valid_text, "valid.tokens")) {
    run.options.messages << fmt::format("training text: {} tokens; validation text: {} tokens\n", training_.size(),
                                        validation_.size());
    stage_json(run.folder, "config.json", model_.config());
  }

  TraineeFacts facts() override {
    return {.name = "gpt2",
            .width = recipe_.width,
            .parts = {{nn::Parameters::list(model_)}},
            .settings = recipe_,
            .recipe = write_fields(recipe_)};
  }
  std::unique_ptr<train::Task> task() override {
    return std::make_unique<LanguageTask>(
        model_, backend_, training_, validation_,
        LanguageTaskOptions{
            .batch = recipe_.batch, .block = recipe_.block, .seed = recipe_.seed, .tokenizer = &tokenizer_});
  }

 private:
  const LanguageRecipe recipe_;
  Backend& backend_;
  const Tokenizer tokenizer_;
  models::GPT2LanguageModel model_;
  const data::TokenStream training_, validation_;
};

}  // namespace

Training language_training(const Json& settings, std::string_view what) {
  const LanguageRecipe recipe = resolve_language_recipe(settings, what);
  return {.settings = recipe,
          .recipe = write_fields(recipe),
          .files = text_files(recipe.text, recipe.valid_text, recipe.out),
          .prepare = [recipe](const RunContext& run) { return std::make_unique<LanguageTrainee>(recipe, run); }};
}

}  // namespace attend::tasks
