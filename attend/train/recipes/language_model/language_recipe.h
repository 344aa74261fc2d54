// Everything that decides a training run for a language model (GPT-2, from scratch or from a folder), as
// translation_recipe.h does for translation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/json.h"
#include "attend/models/gpt2.h"
#include "attend/train/recipes/recipe_json.h"
#include "attend/train/recipes/run_settings.h"

namespace attend::train {

struct LanguageRecipe : RunSettings {
  std::string task = "language-model";
  std::vector<std::string> text, valid_text;
  std::string from;
  std::string tokenizer;
  std::int64_t vocabulary_size = 0;
  std::int64_t width = 384, layers = 6, heads = 6, block = 256;
  float dropout = 0.2f;
  std::int64_t batch = 64;
  bool lines = false;
  std::string prompt_end;
  models::WindowSettings window = {};

  LanguageRecipe() {
    schedule = "cosine", learning_rate = 1e-3f, warmup = 100, steps = 5000;
    weight_decay = 0.1f, beta2 = 0.99f, epsilon = 1e-8f, average = 1;
  }

  template <class Visitor>
  void visit(Visitor&& v) {
    v("task", task, "translation, language-model, masked-lm, classify, tag or answer");
    v("text", text, "the training text, plain or .gz; may be given several times");
    v("valid_text", valid_text, "text to validate on");
    v("from", from, "a GPT-2 folder to go on from: of Hugging Face's hub, one of ours, or a shipped model's name");
    v("tokenizer", tokenizer, "a tokenizer.json to use; without it one is learned from the training text");
    v("vocabulary_size", vocabulary_size, "tokens to learn; 0 takes bytes, that is characters");
    v("width", width, "of the model; with --from as the folder says");
    v("layers", layers, "how many; likewise");
    v("heads", heads, "of attention; they divide the width; likewise");
    v("block", block, "longest text the model sees, in tokens; with --from at most what the folder's model reads");
    v("dropout", dropout,
      "of embeddings, attention weights and what each sublayer adds; with --from as the folder says");
    v("batch", batch, "windows of the text a batch");
    v("lines", lines, "every line is a text of its own, read from its beginning: a batch is lines, not windows");
    v("prompt_end", prompt_end, "with lines: what is in front of the last such token of a line, and it, is only read");
    window.visit(v);
    visit_run(v);
  }

  std::vector<UnusedSettings> unused() const {
    if (from.empty()) return {};
    return {decided_by_folder({"width", "layers", "heads", "vocabulary_size"})};
  }
};

LanguageRecipe resolve_language_recipe(const Json& settings, std::string_view what);

// A 'dropout' that was not given of a run that goes on from a folder.
inline constexpr float kAsFolderSays = -1;
// The model of a folder as the recipe goes on with it.
models::GPT2Config started_config(const LanguageRecipe& recipe, models::GPT2Config config);

models::GPT2Config model_config(const LanguageRecipe& recipe, std::int64_t vocabulary, std::int64_t end);

}  // namespace attend::train
