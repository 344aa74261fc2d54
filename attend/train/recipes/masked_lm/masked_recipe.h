// Everything that decides a run of pre-training by hidden tokens (BERT, RoBERTa), as language_recipe.h does for GPT-2.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/json.h"
#include "attend/models/attention_windows.h"
#include "attend/train/recipes/recipe_json.h"
#include "attend/train/recipes/run_settings.h"

namespace attend::train {

struct MaskedRecipe : RunSettings {
  std::string task = "masked-lm";
  std::vector<std::string> text, valid_text;
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
    v("task", task, "what is trained");
    v("text", text, "the training text, plain or .gz; may be given several times");
    v("valid_text", valid_text, "text to validate on");
    v("from", from, "a model folder to go on from: of Hugging Face's hub, or one of ours");
    v("model", model, "masked-lm: bert or roberta");
    v("tokenizer", tokenizer, "a tokenizer.json to use; without it one is learned from the training text");
    v("vocabulary_size", vocabulary_size, "tokens to learn");
    v("width", width, "of the model");
    v("layers", layers, "how many");
    v("heads", heads, "of attention; they divide the width");
    v("hidden", hidden, "masked-lm: width inside the feed-forward layers; 0: four times the width");
    v("max_length", max_length, "masked-lm: longest text the model can read, in tokens");
    v("block", block, "longest text the model sees while training, in tokens");
    v("batch", batch, "blocks of text a batch");
    v("dropout", dropout, "of embeddings, attention weights and what each sublayer adds");
    v("masked", masked, "share of the tokens that are hidden");
    window.visit(v);
    visit_run(v);
  }
};

MaskedRecipe resolve_masked_recipe(const Json& settings, std::string_view what);

}  // namespace attend::train
