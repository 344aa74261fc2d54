// From a text file, and a folder to go on from if one is given, to a folder that attend generate reads; that of a GPT-2
// is also read by Hugging Face's transformers.
#include <fmt/core.h>

#include <algorithm>
#include <ostream>

#include "attend/base/error.h"
#include "attend/catalogue/catalogue.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/text/learn/bpe_trainer.h"
#include "attend/text/tokenizer.h"
#include "attend/train/recipes/language_model/language_recipe.h"
#include "attend/train/recipes/language_model/language_task.h"
#include "attend/train/recipes/start_folder.h"
#include "attend/train/recipes/text_files.h"
#include "attend/train/recipes/trainings.h"

namespace attend::train {

namespace {

constexpr const char* kEndOfText = "<|endoftext|>";

TextSplit texts_of(const LanguageRecipe& recipe, const RunContext& run) {
  const auto share = static_cast<double>(recipe.held_out.valid_share);
  if (share == 0) return {recipe.text, recipe.valid_text};
  return split_text(recipe.text, share, run.folder);
}

text::Tokenizer prepare_tokenizer(const LanguageRecipe& recipe, const TextSplit& texts, const RunContext& run) {
  train::RunFolder& folder = run.folder;
  if (!folder.resumed() && !recipe.tokenizer.empty()) {
    folder.stage("tokenizer.json", given_tokenizer(recipe.tokenizer));
  } else if (!folder.resumed() && !recipe.from.empty()) {
    copy_tokenizer(run.from, folder.prepared());
  } else if (!folder.resumed()) {
    // The 256 bytes and the end mark alone are a model of characters.
    const auto size = static_cast<std::size_t>(recipe.vocabulary_size > 0 ? recipe.vocabulary_size : 257);
    text::BpeTrainer trainer({.vocabulary_size = size,
                              .special_tokens = {kEndOfText},
                              .words = {.line_ends = true},
                              .threads = static_cast<int>(recipe.threads)});
    for (const std::string& text : texts.text) trainer.add_file(text);
    folder.stage("tokenizer.json", text::to_tokenizer_json(trainer.train()));
  }
  return text::Tokenizer::load(folder.prepared());
}

std::unique_ptr<models::LanguageModel> model_for(const LanguageRecipe& recipe, const text::Tokenizer& tokenizer,
                                                 const RunContext& run) {
  if (!recipe.from.empty()) {
    const catalogue::ModelConfig start = catalogue::read_config(run.from, catalogue::Task::generate, "train");
    auto model = started_model(recipe, start.json, start.path);
    const std::int64_t known = model->facts().vocabulary;
    check(tokenizer.id_limit() <= known, "{}: the tokenizer has ids up to {}, the model only {} tokens", start.path,
          tokenizer.id_limit() - 1, known);
    return model;
  }
  const std::int64_t vocabulary = (tokenizer.id_limit() + 63) / 64 * 64;  // GPU products like it round
  return new_model(recipe, vocabulary, tokenizer.token_to_id(kEndOfText).value_or(0));
}

// Where lines are texts of their own.
data::LineTokens line_tokens(const LanguageRecipe& recipe, const text::Tokenizer& tokenizer) {
  if (!recipe.lines) return {};
  const auto end = tokenizer.token_to_id(kEndOfText);
  check(end.has_value(), "training: with 'lines' the tokenizer needs a token {}", kEndOfText);
  if (recipe.prompt_end.empty()) return {.end = *end};
  const std::vector<std::int32_t> ids = tokenizer.encode_ids(recipe.prompt_end, {.add_special_tokens = false});
  check(ids.size() == 1, "training: 'prompt_end' must be one token, and '{}' is {}", recipe.prompt_end, ids.size());
  return {.end = *end, .prompt_end = ids[0]};
}

class LanguageModelJob : public TrainingJob {
 public:
  LanguageModelJob(LanguageRecipe recipe, const RunContext& run)
      : recipe_(std::move(recipe)),
        run_(run),
        texts_(texts_of(recipe_, run)),
        tokenizer_(prepare_tokenizer(recipe_, texts_, run)),
        model_(model_for(recipe_, tokenizer_, run)),
        lines_(line_tokens(recipe_, tokenizer_)),
        training_(token_stream(run.folder, texts_.text, "train.tokens", lines_.end)),
        validation_(token_stream(run.folder, texts_.valid_text, "valid.tokens", lines_.end)) {
    run.options.messages << fmt::format("training text: {} tokens; validation text: {} tokens\n", training_.size(),
                                        validation_.size());
    stage_json(run.folder, "config.json", model_->config());
  }

  JobFacts facts() override {
    return {.name = model_->config()["model_type"].get<std::string>(),
            .width = model_->facts().width,
            .parts = {{model_->parameters()}},
            .settings = recipe_,
            .recipe = to_json(recipe_),
            .tokens = recipe_.batch * recipe_.block,
            .sizes = sizes()};
  }
  void start(const std::vector<nn::Parameters*>& weights) override {
    if (recipe_.from.empty() || run_.folder.resumed()) return;
    checkpoint::load_hugging_face(checkpoint::TensorFiles::open(run_.from), *weights[0],
                                  {.prefix = std::string(catalogue::entry_of(model_->config(), "train").prefix)});
    run_.options.messages << fmt::format("from {}\n", run_.from.string());
  }
  std::unique_ptr<train::Task> task() override {
    return std::make_unique<LanguageTask>(
        *model_, run_.backend, training_, validation_,
        LanguageTaskOptions{.batch = recipe_.batch,
                            .block = std::min(recipe_.block, model_->facts().max_length),
                            .seed = recipe_.seed,
                            .lines = lines_,
                            .tokenizer = &tokenizer_});
  }

 private:
  StepSizes sizes() const {
    const models::LanguageModel::Facts config = model_->facts();
    return {.tokens = recipe_.batch * std::min(recipe_.block, config.max_length),
            .layers = config.layers,
            .width = config.width,
            .hidden = config.hidden,
            .heads = config.heads,
            .vocabulary = config.vocabulary};
  }

  const LanguageRecipe recipe_;
  const RunContext run_;
  const TextSplit texts_;
  const text::Tokenizer tokenizer_;
  const std::unique_ptr<models::LanguageModel> model_;
  const data::LineTokens lines_;
  const data::TokenStream training_, validation_;
};

}  // namespace

Training language_training(const Json& settings, std::string_view what) {
  const LanguageRecipe recipe = resolve_language_recipe(settings, what);
  return {.settings = recipe,
          .recipe = to_json(recipe),
          .files = recipe.held_out.valid_share > 0 ? text_files(recipe.text, recipe.out)
                                                   : text_files(recipe.text, recipe.valid_text, recipe.out),
          .from = recipe.from,
          .prepare = [recipe](const RunContext& run) { return std::make_unique<LanguageModelJob>(recipe, run); }};
}

}  // namespace attend::train
