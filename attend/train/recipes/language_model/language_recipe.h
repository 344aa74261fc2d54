// Everything that decides a training run for a language model (GPT-2 or an RNN, from scratch or from a folder), as
// translation_recipe.h does for translation.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/json.h"
#include "attend/models/attention_windows.h"
#include "attend/models/language_model.h"
#include "attend/train/recipes/held_out.h"
#include "attend/train/recipes/recipe_json.h"
#include "attend/train/recipes/run_settings.h"

namespace attend::train {

struct LanguageRecipe : RunSettings {
  std::string task = "language-model";
  std::vector<std::string> text, valid_text;
  HeldOutSettings held_out = {};
  std::string from;
  std::string model = "gpt2", cell = "lstm";
  std::string tokenizer;
  std::int64_t vocabulary_size = 0;
  std::int64_t width = 384, layers = 6, heads = 6, block = 256;
  float dropout = 0.2f;
  std::int64_t batch = 64;
  bool lines = false;
  std::string prompt_end;
  models::WindowSettings window = {};
  std::string positions = "learned";

  LanguageRecipe() {
    schedule = "cosine", learning_rate = 1e-3f, warmup = 100, steps = 5000;
    weight_decay = 0.1f, beta2 = 0.99f, epsilon = 1e-8f, average = 1;
  }

  template <class Visitor>
  void visit(Visitor&& v) {
    v("task", task, "What to train.");
    v("text", text, "Training text, plain or .gz. Repeat for more files.");
    v("valid_text", valid_text, "Validation text.");
    held_out.visit(v);
    v("from", from,
      "Language model to fine-tune: a folder from the Hugging Face hub (GPT-2) or attend train, or the name of a "
      "bundled model.");
    v("model", model, "Architecture: gpt2 or rnn.");
    v("cell", cell, "With --model rnn: recurrent cell, tanh, gru or lstm.");
    v("tokenizer", tokenizer, "A tokenizer.json to use. By default a tokenizer is trained on the training text.");
    v("vocabulary_size", vocabulary_size, "Vocabulary size of the trained tokenizer; 0 means byte level.");
    v("width", width, "Model width. --from sets it.");
    v("layers", layers, "Number of layers. --from sets it.");
    v("heads", heads, "Attention heads; must divide the width. --from sets it.");
    v("block", block, "Context length in tokens. With --from, at most the model's.");
    v("dropout", dropout, "Dropout on embeddings, attention weights and sublayer outputs. --from sets the default.");
    v("batch", batch, "Sequences per batch.");
    v("lines", lines, "Treat each line as a document of its own. A batch then holds lines.");
    v("prompt_end", prompt_end,
      "With --lines: compute no loss on a line up to and including the last occurrence of this token.");
    window.visit(v);
    v("positions", positions,
      "Position encoding: learned, sinusoidal, rotary, relative (a bias by distance, as T5 has) or none.");
    visit_run(v);
  }

  std::vector<UnusedSettings> unused() const {
    if (!from.empty())
      return {decided_by_folder({"width", "layers", "heads", "vocabulary_size", "positions"}),
              decided_by_folder({"model", "cell"})};
    if (recurrent()) return {{{"heads", "attention_window", "global_tokens", "positions"}, "is for --model gpt2"}};
    return {{{"cell"}, "is for --model rnn"}};
  }
  bool recurrent() const { return model == "rnn"; }
  // Settings newer than many runs, which are resumed all the same.
  void leave_out_of(Json& json) const {
    if (!recurrent()) json.erase("model");
    if (positions == "learned") json.erase("positions");
  }
};

LanguageRecipe resolve_language_recipe(const Json& settings, std::string_view what);

// A 'dropout' that was not given of a run that goes on from a folder.
inline constexpr float kAsFolderSays = -1;
// The model of a folder as the recipe goes on with it; start is its config.json, which messages call `what`.
std::unique_ptr<models::LanguageModel> started_model(const LanguageRecipe& recipe, const Json& start,
                                                     std::string_view what);
// A new one for so many tokens.
std::unique_ptr<models::LanguageModel> new_model(const LanguageRecipe& recipe, std::int64_t vocabulary,
                                                 std::int64_t end);

}  // namespace attend::train
