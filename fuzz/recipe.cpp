// Any bytes as a recipe.json, for every task; nothing is trained.
#include "attend/base/fields.h"
#include "attend/base/json.h"
#include "attend/training/head_recipe.h"
#include "attend/training/language_recipe.h"
#include "attend/training/masked_recipe.h"
#include "attend/training/translation_recipe.h"
#include "fuzz/shared/door.h"

namespace attend::fuzz {

const Door kDoor = {
    .file = "recipe.json",
    .schema = R"({"task": ["translation", "language-model", "masked-lm", "classify", "tag", "answer"], "out": ["x"],
      "model": ["transformer", "rnn-attention", "rnn-plain", "bert", "roberta"], "preset": ["tiny", "small", "base", "big", "x"],
      "schedule": ["inverse-square-root", "cosine", "linear", "x"], "dtype": ["auto", "f32", "bf16", "bf16x3", "fp8"],
      "recompute": ["none", "feed-forward", "layer"], "select": ["bleu", "loss", "score"], "format": ["auto", "csv", "squad"],
      "steps": [0, 1, -1, 100], "warmup": [-1, 0, -2], "epochs": [0, 3, 1e7], "batch": [0, 1, 32], "max_length": [0, 7, 8, 64],
      "accumulate": [0, 1], "log_every": [0, 1], "validate_every": [0, 1], "save_every": [0, 1], "average": [0, 1], "seed": [0, -1],
      "learning_rate": [0, -1, 1e-3], "clip_norm": [-1], "weight_decay": [-1], "beta1": [0.9], "epsilon": [1e-9], "patience": [-1],
      "text": ["a", ["a", "b"], []], "valid_text": ["a"], "tokenizer": ["x"], "vocabulary_size": [0, 1, 256, 8192], "from": ["x"],
      "width": [0, 8, 64, 65], "layers": [0, 1], "heads": [1, 3], "hidden": [0, 64], "block": [0, 1, 256], "dropout": [0, 1, -1],
      "tokens": [0, 4096], "label_smoothing": [0.1, 1], "r_drop": [-1, 5], "regression": [true, false], "label_names": [["a"], []],
      "encoder_layers": [1], "decoder_layers": [1], "mask": [0.15, 0, 1], "source": ["x"], "target": ["x"], "train": ["x"], "valid": ["x"],
      "layer_decay": [0.8, 0, 1, 2], "parameter_groups": [[{"match": "*.bias", "learning_rate": 0.5, "weight_decay": 0, "frozen": true}], []],
      "header": [true], "threads": [-1, 0, 1000000], "cell": ["gru", "lstm", "x"], "positions": ["learned", "x"]})"};

namespace {

// A recipe that was taken is saved with its run, and must be taken again.
template <class Recipe, class Resolve>
void resolve_twice(const Json& json, Resolve resolve) {
  const Recipe recipe = resolve(json, "input");
  must_take([&] { resolve(write_fields(recipe), "written"); }, "a recipe that was taken can be saved and read");
}

}  // namespace

void enter(const Input& input) {
  const Json json = parse_json(input.first().bytes, "input");
  attempt([&] {
    const tasks::ResolvedRecipe resolved = tasks::resolve_recipe(json, "input");
    must_take([&] { tasks::resolve_recipe(tasks::to_json(resolved), "written"); },
              "a recipe that was taken can be saved and read");
    // One that the recipe asks for may be as large as a machine; here it is only described.
    tasks::make_model(resolved, 64);
  });
  attempt([&] {
    const tasks::LanguageRecipe recipe = tasks::resolve_language_recipe(json, "input");
    must_take([&] { tasks::resolve_language_recipe(tasks::to_json(recipe), "written"); },
              "a recipe that was taken can be saved and read");
  });
  attempt([&] { models::GPT2(tasks::model_config(tasks::resolve_language_recipe(json, "input"), 64, 0)); });
  attempt([&] { resolve_twice<tasks::MaskedRecipe>(json, tasks::resolve_masked_recipe); });
  attempt([&] { resolve_twice<tasks::HeadRecipe>(json, tasks::resolve_head_recipe); });
  attempt([&] {
    const tasks::HeadRecipe recipe = tasks::resolve_head_recipe(json, "input");
    for (const std::int64_t texts : {1, 1000, 1 << 30})
      must_take([&] { tasks::check_settings(tasks::for_texts(recipe, texts), "input"); },
                "any number of texts will do");
  });
}

}  // namespace attend::fuzz
