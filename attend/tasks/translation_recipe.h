// Everything that decides a training run for translation, as one struct that is read from a JSON file, set by flags and
// saved with the model. The settings of the model itself (models::TransformerConfig, models::RnnConfig) stand in the
// same file beside these.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "attend/base/json.h"
#include "attend/models/seq2seq.h"

namespace attend::tasks {

struct TranslationRecipe {
  std::string task = "translation";
  std::string source, target, valid_source, valid_target, out;
  std::string model = "transformer", preset = "small";
  std::string tokenizer;
  std::int64_t vocabulary_size = 8000;
  std::int64_t tokens = 4096, accumulate = 1;
  std::int64_t steps = 10000;
  std::string schedule = "inverse-square-root";
  float learning_rate = 0;
  std::int64_t warmup = 4000;
  float label_smoothing = 0.1f, r_drop = 0, clip_norm = 1, weight_decay = 0;
  float beta1 = 0.9f, beta2 = 0.98f, epsilon = 1e-9f;
  std::int64_t log_every = 50, validate_every = 500, save_every = 500;
  std::int64_t bleu_sentences = 500;
  std::string select = "bleu";
  std::int64_t patience = 0, average = 5;
  std::uint64_t seed = 1;
  std::string device = "cpu", dtype = "auto";
  std::int64_t threads = 0;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("task", task, "what is trained: translation");
    v("source", source, "training text to translate from, one sentence a line, plain or .gz");
    v("target", target, "its translation, line by line");
    v("valid_source", valid_source, "text to validate on");
    v("valid_target", valid_target, "its translation");
    v("out", out, "folder of the model and the run");
    v("model", model, "transformer, rnn-attention or rnn-plain");
    v("preset", preset, "size of a Transformer: tiny, small, base or big");
    v("tokenizer", tokenizer, "a tokenizer.json to use; without it one is learned from the training text");
    v("vocabulary_size", vocabulary_size, "tokens to learn, for both languages together");
    v("tokens", tokens, "target tokens a batch");
    v("accumulate", accumulate, "batches a step");
    v("steps", steps, "of the optimiser");
    v("schedule", schedule, "inverse-square-root (the paper's) or cosine");
    v("learning_rate", learning_rate, "at the end of the warm-up; 0: the paper's, 1 / sqrt(width x warmup)");
    v("warmup", warmup, "steps of rising learning rate");
    v("label_smoothing", label_smoothing, "how much of the target goes to all words evenly");
    v("r_drop", r_drop, "how much two passes with different dropout shall agree (Liang et al. 2021); 0: one pass");
    v("clip_norm", clip_norm, "largest norm of the gradient; 0: any");
    v("weight_decay", weight_decay, "of matrices (AdamW)");
    v("beta1", beta1, "of Adam"), v("beta2", beta2, "of Adam"), v("epsilon", epsilon, "of Adam");
    v("log_every", log_every, "steps between lines of the log");
    v("validate_every", validate_every, "steps between validations");
    v("save_every", save_every, "steps between saved states");
    v("bleu_sentences", bleu_sentences, "validation sentences to translate greedily for BLEU; 0: none");
    v("select", select, "which weights are best: those with the highest bleu, or the lowest loss");
    v("patience", patience, "validations without a better model before stopping; 0: never stop early");
    v("average", average, "checkpoints averaged in the end; 1: none");
    v("seed", seed, "of weights, order and dropout");
    v("device", device, "cpu, cuda or cuda:N");
    v("dtype", dtype, "f32, bf16, or auto: bf16 on a GPU");
    v("threads", threads, "CPU threads, 0 for all cores");
  }
};

struct ResolvedRecipe {
  TranslationRecipe recipe;
  Json model;  // the settings of the model, complete but for its vocabulary
};

// settings holds keys of TranslationRecipe and of the model it names. Throws Error naming a key that is unknown (with
// the nearest known one), of the wrong type, or has a value that makes no sense.
ResolvedRecipe resolve_recipe(const Json& settings, std::string_view what);

// Both parts in one object: what `attend train` reads again.
Json to_json(const ResolvedRecipe& resolved);

// The model of a recipe for this many tokens.
std::unique_ptr<models::Seq2Seq> make_model(const ResolvedRecipe& resolved, std::int64_t vocabulary);

}  // namespace attend::tasks
