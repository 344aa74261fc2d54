// Everything that decides a run of pre-training by hidden tokens (BERT, RoBERTa), as language_recipe.h does for GPT-2.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/json.h"
#include "attend/models/attention_windows.h"
#include "attend/train/recipes/held_out.h"
#include "attend/train/recipes/recipe_json.h"
#include "attend/train/recipes/run_settings.h"

namespace attend::train {

struct MaskedRecipe : RunSettings {
  std::string task = "masked-lm";
  std::vector<std::string> text, valid_text;
  HeldOutSettings held_out = {};
  std::string from;
  std::string model = "bert";
  std::string tokenizer;
  std::int64_t vocabulary_size = 8192;
  std::int64_t width = 256, layers = 4, heads = 4, hidden = 0, max_length = 512;
  std::int64_t block = 128, batch = 64;
  float dropout = 0.1f;
  float masked = 0.15f;
  models::WindowSettings window = {};

  MaskedRecipe() {
    schedule = "cosine", learning_rate = 1e-3f, warmup = 500, steps = 20000;
    weight_decay = 0.01f, beta2 = 0.98f, epsilon = 1e-6f, average = 1;
    validate_every = 1000, save_every = 1000, log_every = 100;
  }

  template <class Visitor>
  void visit(Visitor&& v) {
    v("task", task, "What to train.");
    v("text", text, "Training text, plain or .gz. Repeat for more files.");
    v("valid_text", valid_text, "Validation text.");
    held_out.visit(v);
    v("from", from, "Model folder to continue pretraining from, from the Hugging Face hub or from attend train.");
    v("model", model, "Architecture: bert or roberta.");
    v("tokenizer", tokenizer, "A tokenizer.json to use. By default a tokenizer is trained on the training text.");
    v("vocabulary_size", vocabulary_size, "Vocabulary size of the trained tokenizer.");
    v("width", width, "Model width.");
    v("layers", layers, "Number of layers.");
    v("heads", heads, "Attention heads; must divide the width.");
    v("hidden", hidden, "Width of the feed-forward layers; 0 means 4 x width.");
    v("max_length", max_length, "Maximum input length of the model, in tokens.");
    v("block", block, "Sequence length during training, in tokens.");
    v("batch", batch, "Sequences per batch.");
    v("dropout", dropout, "Dropout on embeddings, attention weights and sublayer outputs.");
    v("masked", masked, "Share of the tokens to mask.");
    window.visit(v);
    visit_run(v);
  }
};

MaskedRecipe resolve_masked_recipe(const Json& settings, std::string_view what);

}  // namespace attend::train
