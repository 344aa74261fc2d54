// From text files to a BERT or RoBERTa folder that attend fill, fine-tuning and Hugging Face's transformers read.
#include <fmt/core.h>

#include <ostream>

#include "attend/base/error.h"
#include "attend/base/fields.h"
#include "attend/base/progress.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/train/recipes/masked_lm/masked_recipe.h"
#include "attend/train/recipes/masked_lm/masked_task.h"
#include "attend/train/recipes/start_folder.h"
#include "attend/train/recipes/text_files.h"
#include "attend/train/recipes/trainings.h"

namespace attend::train {

namespace {

namespace fs = std::filesystem;
using models::BertFamily;

BertFamily family_of(const MaskedRecipe& recipe) {
  return recipe.model == "roberta" ? BertFamily::roberta : BertFamily::bert;
}

TextSplit texts_of(const MaskedRecipe& recipe, const RunContext& run) {
  const auto share = static_cast<double>(recipe.held_out.valid_share);
  if (share == 0) return {recipe.text, recipe.valid_text};
  return split_text(recipe.text, share, run.folder);
}

void stage_tokenizer(const MaskedRecipe& recipe, const TextSplit& texts, const RunContext& run) {
  const fs::path out = run.folder.prepared();
  if (!recipe.tokenizer.empty()) return copy_tokenizer(recipe.tokenizer, out);
  if (!run.from.empty()) return copy_tokenizer(run.from, out);
  learn_tokenizer({.family = family_of(recipe),
                   .texts = texts.text,
                   .vocabulary_size = recipe.vocabulary_size,
                   .max_length = recipe.max_length,
                   .threads = static_cast<int>(recipe.threads)},
                  out, run.options);
}

text::Tokenizer prepare_tokenizer(const MaskedRecipe& recipe, const TextSplit& texts, const RunContext& run) {
  if (!run.folder.resumed()) stage_tokenizer(recipe, texts, run);
  return text::Tokenizer::load(run.folder.prepared());
}

SpecialTokens special_with_mask(const text::Tokenizer& tokenizer, const std::string& what) {
  const SpecialTokens special = special_tokens(tokenizer, what);
  check(special.mask >= 0, "{}: the tokenizer has neither [MASK] nor <mask>", what);
  return special;
}

models::BertConfig new_config(const MaskedRecipe& recipe, const text::Tokenizer& tokenizer) {
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
          .pad = special.pad,
          .window = recipe.window};
}

models::BertConfig started_config(const MaskedRecipe& recipe, const text::Tokenizer& tokenizer,
                                  const fs::path& folder) {
  const fs::path path = folder / "config.json";
  models::BertConfig config = models::bert_config(read_json(path), path.string());
  config.labels.clear(), config.problem = models::ProblemType::single_label;
  config.dropout = config.attention_dropout = recipe.dropout;
  if (!recipe.window.attention_window.empty()) config.window = recipe.window;
  check(tokenizer.id_limit() <= config.vocabulary, "{}: the tokenizer has ids up to {}, the model only {} tokens",
        path.string(), tokenizer.id_limit() - 1, config.vocabulary);
  return config;
}

models::BertConfig config_of(const MaskedRecipe& recipe, const text::Tokenizer& tokenizer, const fs::path& from) {
  const models::BertConfig config =
      from.empty() ? new_config(recipe, tokenizer) : started_config(recipe, tokenizer, from);
  const std::int64_t first = config.counts_positions() ? config.pad + 1 : 0;
  check(recipe.block <= config.max_length - first, "training: 'block' is {}, but the model reads {} tokens",
        recipe.block, config.max_length - first);
  return config;
}

data::MaskingOptions masking_of(const MaskedRecipe& recipe, const text::Tokenizer& tokenizer,
                                const SpecialTokens& special) {
  return {.block = recipe.block,
          .share = static_cast<double>(recipe.masked),
          .start = special.start,
          .end = special.end,
          .mask = special.mask,
          .ordinary = ordinary_tokens(tokenizer),
          .seed = recipe.seed};
}

class MaskedLmJob : public TrainingJob {
 public:
  MaskedLmJob(MaskedRecipe recipe, const RunContext& run)
      : recipe_(std::move(recipe)),
        run_(run),
        texts_(texts_of(recipe_, run)),
        tokenizer_(prepare_tokenizer(recipe_, texts_, run)),
        special_(special_with_mask(tokenizer_, recipe_.out)),
        model_(config_of(recipe_, tokenizer_, run.from)),
        training_(token_stream(run.folder, texts_.text, "train.tokens", special_.end)),
        validation_(token_stream(run.folder, texts_.valid_text, "valid.tokens", special_.end)),
        masking_(masking_of(recipe_, tokenizer_, special_)),
        training_blocks_(training_, masking_),
        validation_blocks_(validation_, masking_) {
    run.options.messages << fmt::format("training text: {} tokens; validation text: {} tokens\n",
                                        with_commas(training_.size()), with_commas(validation_.size()));
    Json config = model_.config();
    config["dtype"] = run.dtype == DType::bf16 ? "bfloat16" : "float32";
    stage_json(run.folder, "config.json", config);
  }

  JobFacts facts() override {
    const models::BertConfig& config = model_.body().config();
    return {.name = models::name_of(config.family),
            .width = config.width,
            .parts = {{nn::Parameters::list(model_)}},
            .settings = recipe_,
            .recipe = to_json(recipe_),
            .tokens = recipe_.batch * recipe_.block,
            .sizes = {.tokens = recipe_.batch * recipe_.block,
                      .layers = config.layers,
                      .width = config.width,
                      .hidden = config.hidden,
                      .heads = config.heads,
                      .vocabulary = config.vocabulary}};
  }
  void start(const std::vector<nn::Parameters*>& weights) override {
    if (run_.from.empty() || run_.folder.resumed()) return;
    checkpoint::load_hugging_face(checkpoint::TensorFiles::open(run_.from), *weights[0],
                                  {.prefix = models::name_of(model_.body().config().family), .new_head = true});
  }
  std::unique_ptr<train::Task> task() override {
    return std::make_unique<MaskedTask>(model_, run_.backend, training_blocks_, validation_blocks_, masking_,
                                        recipe_.batch, tokenizer_);
  }

 private:
  const MaskedRecipe recipe_;
  const RunContext run_;
  const TextSplit texts_;
  const text::Tokenizer tokenizer_;
  const SpecialTokens special_;
  models::MaskedLanguageModel model_;
  const data::TokenStream training_, validation_;
  const data::MaskingOptions masking_;
  const data::MaskedText training_blocks_, validation_blocks_;
};

}  // namespace

Training masked_training(const Json& settings, std::string_view what) {
  const MaskedRecipe recipe = resolve_masked_recipe(settings, what);
  return {.settings = recipe,
          .recipe = to_json(recipe),
          .files = recipe.held_out.valid_share > 0 ? text_files(recipe.text, recipe.out)
                                                   : text_files(recipe.text, recipe.valid_text, recipe.out),
          .from = recipe.from,
          .prepare = [recipe](const RunContext& run) { return std::make_unique<MaskedLmJob>(recipe, run); }};
}

}  // namespace attend::train
