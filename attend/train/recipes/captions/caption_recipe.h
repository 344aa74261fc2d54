// Everything that decides a run that learns to write about images: an encoder, from scratch or from a folder, and one
// of the decoders of attend/models/captioner.h.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/json.h"
#include "attend/data/images/image_augmentation.h"
#include "attend/train/recipes/images/image_recipe.h"
#include "attend/train/recipes/recipe_json.h"
#include "attend/train/recipes/run_settings.h"

namespace attend::train {

struct CaptionRecipe : RunSettings {
  std::string task = "describe";
  std::string train, valid, test, train_names, valid_names, test_names, images_folder;
  float valid_share = 0.1f;
  std::string decoder = "show-attend-tell";
  Json decoder_config = Json::object();
  std::string encoder, model = "vit_conv";
  Json config = Json::object();
  float encoder_rate = 1;
  std::int64_t patch_size = 16, width = 256, layers = 4, heads = 4, hidden = 0;
  float dropout = 0.1f, drop_path = 0;
  std::string tokenizer;
  std::int64_t least_count = 5, max_length = 24;
  float label_smoothing = 0.1f;
  std::int64_t batch = 64, score_images = 500;
  float epochs = 30;
  std::string select = "cider";
  data::ImageOptions images;

  CaptionRecipe() {
    schedule = "cosine", learning_rate = 5e-4f, warmup = -1, steps = 0;
    weight_decay = 0.05f, beta2 = 0.98f, epsilon = 1e-8f, average = 1;
    validate_every = 0, save_every = 0, log_every = 50;
    images.image_size = 128, images.crop = "shift", images.crop_padding = 8;
  }

  // Settings of images that a run cannot have other than they are.
  static constexpr std::array<std::string_view, 2> kFixed = {"mixup", "cutmix"};

  template <class Visitor>
  void visit(Visitor&& v) {
    v("task", task, "what is trained");
    v("train", train, "describe: a file of captions, COCO's .json or Flickr's token.txt");
    v("train_names", train_names, "describe: a file that names the images of it to learn from, one a line");
    v("valid", valid, "the same to validate on; without, --valid-share of the images is held out");
    v("valid_names", valid_names, "describe: as --train-names");
    v("valid_share", valid_share, "of the images, held out where there is no --valid");
    v("test", test, "the same to evaluate the finished model on; test.json in --out has the result");
    v("test_names", test_names, "describe: as --train-names");
    v("images", images_folder, "describe: the folder of the images, where they are not beside the captions");
    v("decoder", decoder, "describe: show-tell, show-attend-tell or transformer");
    v("decoder_config", decoder_config, "describe: settings of the decoder, as an object: '{\"hidden\": 256}'");
    v("encoder", encoder, "describe: a folder of a model for images to start from; without, one from scratch");
    v("encoder_rate", encoder_rate, "describe: learning rate of the encoder, times the run's; 0: it stays as it is");
    v("model", model, "describe: the encoder: vit, vit_conv (with a convolutional stem), swin, mvit or resnet");
    v("config", config, "keys of the encoder's config.json, as an object");
    v("patch_size", patch_size, "vit: pixels a side of a patch");
    v("width", width, "vit: of the model");
    v("layers", layers, "vit: how many");
    v("heads", heads, "vit: of attention; they divide the width");
    v("hidden", hidden, "vit: width inside the feed-forward layers; 0: four times the width");
    v("dropout", dropout, "vit: of embeddings and of what each sublayer adds");
    v("drop_path", drop_path, "stochastic depth: how often the last layer is left out, the others less");
    v("tokenizer", tokenizer, "a tokenizer.json to use; without it the words of the captions are the tokens");
    v("least_count", least_count, "describe: how often a word must occur; rarer ones are unknown");
    v("max_length", max_length, "describe: longest caption, in tokens; what is behind is cut off");
    v("label_smoothing", label_smoothing, "spread evenly over all tokens");
    v("batch", batch, "images a batch, each with one of its captions");
    v("score_images", score_images, "describe: images to describe greedily at a validation; 0: none");
    v("epochs", epochs, "times through the images; decides the steps where those are 0");
    v("select", select, "which weights are best: by cider, bleu or loss");
    images.visit(v);
    visit_run(v);
  }

  std::vector<UnusedSettings> unused() const { return unused_of_vit(model); }
};

// Zeros stand for what the data decides (with_epochs()). Throws Error naming a setting that makes no sense.
CaptionRecipe resolve_caption_recipe(const Json& settings, std::string_view what);

// The encoder's part of it, as a run that learns labels would have it.
ImageRecipe encoder_recipe(const CaptionRecipe& recipe);

}  // namespace attend::train
