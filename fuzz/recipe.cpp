// Any bytes as a recipe.json, for every task; nothing is trained.
#include "attend/base/json.h"
#include "attend/catalogue/catalogue.h"
#include "attend/train/recipes/captions/caption_recipe.h"
#include "attend/train/recipes/detection/detect_recipe.h"
#include "attend/train/recipes/drawing/draw_recipe.h"
#include "attend/train/recipes/heads/head_recipe.h"
#include "attend/train/recipes/images/image_recipe.h"
#include "attend/train/recipes/language_model/language_recipe.h"
#include "attend/train/recipes/masked_lm/masked_recipe.h"
#include "attend/train/recipes/trainings.h"
#include "attend/train/recipes/translation/translation_recipe.h"
#include "fuzz/shared/target.h"

namespace attend::fuzz {

namespace {

std::string task_names() {
  Json names = Json::array();
  for (const train::TrainedTask& task : train::trained_tasks()) names.push_back(std::string(task.name));
  return names.dump();
}

const std::string kSchema = "{\"task\": " + task_names() +
                            R"(, "out": ["x"],
      "model": ["transformer", "rnn-attention", "rnn-plain", "bert", "roberta", "gpt2", "rnn", "vit", "vit_conv", "vit_hybrid", "swin", "mvit", "mvit_v1", "resnet"],
      "preset": ["tiny", "small", "base", "big", "x"],
      "schedule": ["inverse-square-root", "cosine", "linear", "x"], "dtype": ["auto", "f32", "bf16", "bf16x3", "fp8"],
      "recompute": ["none", "feed-forward", "layer"], "select": ["bleu", "loss", "score", "cider"], "format": ["auto", "csv", "squad"],
      "steps": [0, 1, -1, 100], "warmup": [-1, 0, -2], "epochs": [0, 3, 1e7], "batch": [0, 1, 32], "max_length": [0, 7, 8, 64],
      "accumulate": [0, 1], "log_every": [0, 1], "validate_every": [0, 1], "save_every": [0, 1], "average": [0, 1], "seed": [0, -1],
      "learning_rate": [0, -1, 1e-3], "clip_norm": [-1], "weight_decay": [-1], "beta1": [0.9], "epsilon": [1e-9], "patience": [-1],
      "text": ["a", ["a", "b"], []], "valid_text": ["a"], "tokenizer": ["x"], "vocabulary_size": [0, 1, 256, 8192], "from": ["x", ""],
      "width": [0, 8, 64, 65, 192, 256], "layers": [0, 1, 4, 6], "heads": [1, 3, 8], "hidden": [0, 64, 1024], "block": [0, 1, 256],
      "dropout": [0, 1, -1, 0.1], "minutes": [0, 0.5, -1, 1e9], "ema": [0.9],
      "tokens": [0, 4096], "label_smoothing": [0.1, 1], "r_drop": [-1, 5], "regression": [true, false], "label_names": [["a"], []],
      "encoder_layers": [1, 3], "decoder_layers": [1, 3], "decoder_heads": [2], "masked": [0.15, 0, 1], "source": ["x"], "target": ["x"],
      "train": ["x"], "valid": ["x"], "test": ["x"], "layer_decay": [0.8, 0, 1, 2],
      "parameter_groups": [[{"match": "*.bias", "learning_rate": 0.5, "weight_decay": 0, "frozen": true}], []],
      "header": [true], "threads": [-1, 0, 1000000], "cell": ["tanh", "gru", "lstm", "x"], "positions": ["learned", "rotary", "x"],
      "config": [{}, {"depths": [1, 1]}, {"backbone_config": {"depths": [1, 1]}}, {"generator_widths": [8, 8, 8]}, {"x": 1}],
      "patch_size": [4, 16, 0], "self_attention": [0, 1], "drop_path": [0.1, 1], "valid_share": [0, 0.1, 1], "image_size": [16, 32, 0],
      "crop": ["resized", "shift", "none", "x"], "mixup": [0, 0.4, -1], "mix_until": [0.5, 1, 2], "erasing": [0, 0.5], "flip": [true, false], "mean": ["0.5", "x"],
      "std": ["0.5", "0"], "broken": ["stop", "skip", "x"], "workers": [-1, 2], "cache_bytes": [-1],
      "decoder": ["show-tell", "show-attend-tell", "transformer", "x"], "decoder_config": [{}, {"hidden": 8}, {"vocabulary": 1}],
      "encoder": ["", "x"], "encoder_rate": [0, 1, -1], "least_count": [0, 5], "score_images": [0, -1], "train_names": ["x"],
      "images": ["x"], "backbone": ["", "x"], "backbone_rate": [-1, 0, -2], "queries": [0, 4, 25], "norms": ["auto", "live", "frozen"],
      "auxiliary": [true, false], "copy_paste": [0, 3], "crop_chance": [0.5, 2], "judge": ["", "x"], "attention_stage": [0, 1, 9],
      "discriminator_rate": [0, 4e-4], "discriminator_turns": [0, 2], "drawings": [1, 2]})";

}  // namespace

const Target kTarget = {.file = "recipe.json", .schema = kSchema.c_str()};

namespace {

// What a run writes as its recipe must be read again, as the same recipe. Returns the recipe.
template <class Resolve>
auto reads_back(const Json& json, Resolve resolve) {
  auto recipe = resolve(json, "input");
  const Json written = train::to_json(recipe);
  must_take([&] { must(train::to_json(resolve(written, "written")) == written, "a recipe reads back as it was"); },
            "a recipe that was taken can be saved and read");
  return recipe;
}

// Models may be as large as a machine; here they are only described.
void describe_models(const Json& json) {
  const std::vector<std::string> labels = {"a", "b"};
  attempt([&] { train::make_model(reads_back(json, train::resolve_recipe), 64); });
  attempt([&] { train::new_model(reads_back(json, train::resolve_language_recipe), 64, 0); });
  attempt([&] {
    const train::ImageRecipe recipe = reads_back(json, train::resolve_image_recipe);
    catalogue::make_image_model(train::image_model_json(recipe, labels), "input");
  });
  attempt([&] {
    const train::ImageRecipe encoder = train::encoder_recipe(reads_back(json, train::resolve_caption_recipe));
    catalogue::make_image_model(train::image_model_json(encoder, labels), "input");
  });
  attempt([&] {
    const train::DetectRecipe recipe = reads_back(json, train::resolve_detect_recipe);
    if (!recipe.pretrained()) models::Detr(train::new_detr(recipe, labels));
  });
  attempt([&] { models::Sagan(train::draw_model_config(reads_back(json, train::resolve_draw_recipe), labels)); });
}

}  // namespace

void enter(const Input& input) {
  const Json json = parse_json(input.first().bytes, "input");
  describe_models(json);
  attempt([&] { reads_back(json, train::resolve_masked_recipe); });
  attempt([&] {
    const train::HeadRecipe recipe = reads_back(json, train::resolve_head_recipe);
    for (const std::int64_t texts : {1, 1000, 1 << 30})
      must_take([&] { train::check_settings(train::for_texts(recipe, texts), "input"); },
                "any number of texts will do");
  });
}

}  // namespace attend::fuzz
