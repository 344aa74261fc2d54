// Everything that decides a run that learns labels of images: from scratch (Dosovitskiy et al. 2020 and its
// descendants) or from a folder with a new head.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/json.h"
#include "attend/data/images/image_augmentation.h"
#include "attend/train/recipes/recipe_json.h"
#include "attend/train/recipes/run_settings.h"

namespace attend::train {

// The settings of a ViT that other models for images have in 'config'.
std::vector<UnusedSettings> unused_of_vit(const std::string& model);

struct ImageRecipe : RunSettings {
  std::string task = "classify-images";
  std::string model = "vit", from;
  Json config = Json::object();
  std::string train, valid, test;
  std::vector<std::string> label_names;
  float valid_share = 0.1f;
  std::int64_t self_attention = 0;
  std::int64_t patch_size = 4, width = 192, layers = 6, heads = 3, hidden = 0;
  float dropout = 0, drop_path = 0, label_smoothing = 0.1f;
  std::int64_t batch = 128;
  float epochs = 30;
  std::string select = "score";
  data::ImageOptions images;

  ImageRecipe() {
    schedule = "cosine", learning_rate = 1e-3f, warmup = -1, steps = 0;
    weight_decay = 0.05f, beta2 = 0.999f, epsilon = 1e-8f, average = 1;
    validate_every = 0, save_every = 0, log_every = 50;
    images.image_size = 32, images.crop = "shift";
  }

  template <class Visitor>
  void visit(Visitor&& v) {
    v("task", task, "what is trained");
    v("train", train, "classify-images: a folder per class, a csv of path and label, MNIST's or CIFAR's files");
    v("valid", valid, "the same to validate on; without, --valid-share of the others is held out");
    v("valid_share", valid_share, "of the images, held out where there is no --valid");
    v("test", test, "the same to evaluate the finished model on; test.json in --out has the result");
    v("label_names", label_names, "what to call the labels, in their order; several times");
    v("model", model, "classify-images: vit, vit_conv (with a convolutional stem), swin, mvit or resnet");
    v("config", config, "classify-images: keys of the model's config.json, as an object: '{\"depths\": [2, 2, 6, 2]}'");
    v("from", from, "a model folder to go on from: of Hugging Face's hub, timm, or one of ours");
    v("patch_size", patch_size, "vit: pixels a side of a patch");
    v("width", width, "vit: of the model");
    v("layers", layers, "vit: how many");
    v("heads", heads, "vit: of attention; they divide the width");
    v("hidden", hidden, "vit: width inside the feed-forward layers; 0: four times the width");
    v("self_attention", self_attention,
      "resnet: the stage behind which there is self-attention, 1 is the first; 0: none");
    v("dropout", dropout, "vit: of embeddings and of what each sublayer adds");
    v("drop_path", drop_path, "stochastic depth: how often the last layer is left out, the others less");
    v("label_smoothing", label_smoothing, "spread evenly over all labels");
    v("batch", batch, "images a batch");
    v("epochs", epochs, "times through the images; decides the steps where those are 0");
    v("select", select, "which weights are best: by score or by loss");
    images.visit(v);
    visit_run(v);
  }

  std::vector<UnusedSettings> unused() const { return unused_of_vit(model); }
};

// Zeros stand for what the data decides (with_epochs()).
ImageRecipe resolve_image_recipe(const Json& settings, std::string_view what);

// config.json of a new model of the recipe for these labels.
Json image_model_json(const ImageRecipe& recipe, const std::vector<std::string>& labels);

// preprocessor_config.json: what an image goes through when the model is used.
Json preprocessor_json(const data::ImageOptions& images);

}  // namespace attend::train
