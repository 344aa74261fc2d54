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
  static constexpr std::array<std::string_view, 3> kFixed = {"mixup", "cutmix", "mix_until"};

  template <class Visitor>
  void visit(Visitor&& v) {
    v("task", task, "What to train.");
    v("train", train, "Training captions: a COCO captions .json or a Flickr token.txt.");
    v("train_names", train_names, "File that lists the training images, one name per line.");
    v("valid", valid,
      "Validation data in the same format. Without it, --valid-share of the training images is held out.");
    v("valid_names", valid_names, "File that lists the validation images.");
    v("valid_share", valid_share, "Share of the images to hold out when --valid is not given.");
    v("test", test, "Test data in the same format, evaluated after training. Results go to test.json in --out.");
    v("test_names", test_names, "File that lists the test images.");
    v("images", images_folder, "Folder of the images, if they are not next to the captions.");
    v("decoder", decoder, "Decoder: show-tell, show-attend-tell or transformer.");
    v("decoder_config", decoder_config,
      "Decoder settings, as a JSON object: '{\"hidden\": 256}'. show-tell: image_at (first or every); transformer: "
      "encoder_layers (Transformer encoder behind the image model).");
    v("encoder", encoder,
      "Folder of an image model to start the encoder from. Without it, the encoder is trained from scratch.");
    v("encoder_rate", encoder_rate, "Learning rate of the encoder, relative to --learning-rate; 0 freezes it.");
    v("model", model,
      "Encoder: vit, vit_conv (with a convolutional stem), vit_hybrid (after a ResNet), swin, mvit (MViTv2), mvit_v1 "
      "or "
      "resnet.");
    v("config", config, "Keys of the encoder's config.json, as a JSON object.");
    v("patch_size", patch_size, "ViT: side of a patch, in pixels.");
    v("width", width, "ViT: model width.");
    v("layers", layers, "ViT: number of layers.");
    v("heads", heads, "ViT: attention heads; must divide the width.");
    v("hidden", hidden, "ViT: width of the feed-forward layers; 0 means 4 x width.");
    v("dropout", dropout, "ViT: dropout on embeddings and sublayer outputs.");
    v("drop_path", drop_path, "Stochastic depth: drop rate of the last layer; earlier layers use less.");
    v("tokenizer", tokenizer, "A tokenizer.json to use. By default each word of the captions is a token.");
    v("least_count", least_count, "Minimum count of a word; rarer words become the unknown token.");
    v("max_length", max_length, "Maximum caption length in tokens; longer captions are truncated.");
    v("label_smoothing", label_smoothing, "Label smoothing, spread over all tokens.");
    v("batch", batch, "Images per batch, each with one of its captions.");
    v("score_images", score_images, "Validation images to caption greedily at each validation; 0 disables it.");
    v("epochs", epochs, "Passes over the images. Sets --steps when that is 0.");
    v("select", select, "Criterion for the best weights: cider, bleu or loss.");
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
