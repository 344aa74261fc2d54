// Everything that decides a training run for translation, as one struct that is read from a JSON file, set by flags and
// saved with the model. The settings of the model itself (models::TransformerConfig, models::RnnConfig) stand in the
// same file beside these.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "attend/base/json.h"
#include "attend/catalogue/catalogue.h"
#include "attend/models/seq2seq.h"
#include "attend/train/recipes/held_out.h"
#include "attend/train/recipes/run_settings.h"

namespace attend::train {

struct TranslationRecipe : RunSettings {
  std::string task = "translation";
  std::string source, target, valid_source, valid_target, test_source, test_target;
  std::string pairs, source_column, target_column;
  HeldOutSettings held_out = {};
  std::string from;
  std::string model = "transformer", preset = "small";
  std::string tokenizer;
  std::int64_t vocabulary_size = 8000;
  bool single_digits = false;
  std::int64_t tokens = 4096;
  float label_smoothing = 0.1f, r_drop = 0;
  std::int64_t bleu_sentences = 500;
  std::string select = "bleu";

  template <class Visitor>
  void visit(Visitor&& v) {
    v("task", task, "What to train.");
    v("source", source, "Training sentences in the source language, one per line, plain or .gz.");
    v("target", target, "Translations of --source, line by line.");
    v("pairs", pairs, "A csv, tsv or jsonl file with both languages, instead of --source and --target.");
    v("source_column", source_column, "Column of the source language in --pairs. Common names are recognised.");
    v("target_column", target_column, "Column of the target language in --pairs.");
    v("valid_source", valid_source, "Validation sentences.");
    v("valid_target", valid_target, "Translations of --valid-source.");
    held_out.visit(v);
    v("test_source", test_source, "Test sentences, translated after training. Results go to test.json in --out.");
    v("test_target", test_target, "Translations of --test-source.");
    v("from", from,
      "Translation model to fine-tune: a folder of attend train or OPUS-MT (Marian), or the name of a bundled "
      "model.");
    v("model", model, "Architecture: transformer, rnn-attention or rnn-plain.");
    v("preset", preset,
      "Transformer size, in parameters without embeddings: tiny (1 M), small (6 M), base (44 M) or big (176 M).");
    v("tokenizer", tokenizer, "A tokenizer.json to use. By default a tokenizer is trained on the training text.");
    v("vocabulary_size", vocabulary_size, "Vocabulary size of the trained tokenizer, shared by both languages.");
    v("single_digits", single_digits, "Make each digit a token of its own in the trained tokenizer.");
    v("tokens", tokens, "Target tokens per batch.");
    v("label_smoothing", label_smoothing, "Label smoothing.");
    v("r_drop", r_drop,
      "Weight of the R-Drop loss, which makes two passes with different dropout agree (Liang et al. 2021); 0 "
      "disables it.");
    v("bleu_sentences", bleu_sentences, "Validation sentences to translate greedily for BLEU; 0 disables it.");
    v("select", select, "Criterion for the best weights: bleu or loss.");
    visit_run(v);
  }
};

struct ResolvedRecipe {
  TranslationRecipe recipe;
  Json model;  // the settings of the model, complete but for its vocabulary; with 'from' those that differ from its
};

// settings holds keys of TranslationRecipe and of the model it names. Throws Error naming a key that is unknown (with
// the nearest known one), of the wrong type, or has a value that makes no sense.
ResolvedRecipe resolve_recipe(const Json& settings, std::string_view what);

// Both parts in one object: what `attend train` reads again.
Json to_json(const ResolvedRecipe& resolved);

// The model of a recipe for this many tokens.
std::unique_ptr<models::Seq2Seq> make_model(const ResolvedRecipe& resolved, std::int64_t vocabulary);
// The model of a folder as the recipe goes on with it, one of our own whatever it was.
std::unique_ptr<models::Seq2Seq> started_model(const ResolvedRecipe& resolved, const catalogue::ModelConfig& start);

}  // namespace attend::train
