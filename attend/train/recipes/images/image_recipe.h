// Everything that decides a run that learns labels of images: from scratch (Dosovitskiy et al. 2020 and its
// descendants) or from a folder with a new head.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/json.h"
#include "attend/data/images/image_augmentation.h"
#include "attend/train/recipes/images/test_time_views.h"
#include "attend/train/recipes/recipe_json.h"
#include "attend/train/recipes/run_settings.h"

namespace attend::train {

// Throws Error for a 'model' that is none of those a run may make; what opens the message.
void check_image_model(const std::string& model, std::string_view what);

// The settings of a ViT that other models for images have in 'config'.
std::vector<UnusedSettings> unused_of_vit(const std::string& model);

struct ImageRecipe : RunSettings {
  std::string task = "classify-images";
  std::string model = "vit", from, teacher;
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
  bool test_time_flip = false, dirac = false;
  std::int64_t test_time_shift = 0;
  float whitening_floor = 5e-4f;
  std::string distillation = "hard";
  float distillation_weight = 0.5f, distillation_temperature = 3;
  data::ImageOptions images;

  ImageRecipe() {
    schedule = "cosine", learning_rate = 1e-3f, warmup = -1, steps = 0;
    weight_decay = 0.05f, beta2 = 0.999f, epsilon = 1e-8f, average = 1;
    validate_every = 0, save_every = 0, log_every = 50;
    images.image_size = 32, images.crop = "shift";
  }

  template <class Visitor>
  void visit(Visitor&& v) {
    v("task", task, "What to train.");
    v("train", train, "Training images: a folder per class, a csv of path and label, or MNIST or CIFAR files.");
    v("valid", valid,
      "Validation data in the same format. Without it, --valid-share of the training images is held out.");
    v("valid_share", valid_share, "Share of the images to hold out when --valid is not given.");
    v("test", test, "Test data in the same format, evaluated after training. Results go to test.json in --out.");
    v("label_names", label_names, "Names of the labels, in order. Repeat for each label.");
    v("model", model,
      "Architecture: vit, vit_conv (with a convolutional stem), vit_hybrid (after a ResNet), swin, mvit (MViTv2), "
      "mvit_v1, resnet or resnet9 (ResNet-9, airbench).");
    v("config", config, "Keys of the model's config.json, as a JSON object: '{\"depths\":[2,2,6,2]}'.");
    v("from", from, "Model folder to fine-tune, from the Hugging Face hub, timm or attend train.");
    v("patch_size", patch_size, "ViT: side of a patch, in pixels.");
    v("width", width, "ViT: model width.");
    v("layers", layers, "ViT: number of layers.");
    v("heads", heads, "ViT: attention heads; must divide the width.");
    v("hidden", hidden, "ViT: width of the feed-forward layers; 0 means 4 x width.");
    v("self_attention", self_attention, "ResNet: add self-attention after this stage (1 is the first); 0 means none.");
    v("dropout", dropout, "ViT: dropout on embeddings and sublayer outputs.");
    v("drop_path", drop_path,
      "Stochastic depth: drop rate of the last layer (of a resnet: block); earlier layers use less.");
    v("label_smoothing", label_smoothing, "Label smoothing, spread over all labels.");
    v("batch", batch, "Images per batch.");
    v("epochs", epochs, "Passes over the images. Sets --steps when that is 0.");
    v("select", select, "Criterion for the best weights: score or loss.");
    v("test_time_flip", test_time_flip,
      "Test-time augmentation: validation averages the scores of each image and its mirror image.");
    v("test_time_shift", test_time_shift,
      "Test-time augmentation: validation also averages each image moved by so many pixels; 0 disables it.");
    v("dirac", dirac, "resnet9: the first filters of every convolution begin as copies of its input (Jordan 2024).");
    v("whitening_floor", whitening_floor,
      "resnet9 with a whitening stem: added to the variance of each direction. Directions that hardly vary are "
      "amplified less.");
    v("teacher", teacher,
      "Distillation: folder of a trained image model, or the name of a bundled one, whose answers are learned beside "
      "the "
      "labels.");
    v("distillation", distillation, "What of the teacher is learned: hard (its label) or soft (its probabilities).");
    v("distillation_weight", distillation_weight, "Share of the teacher in the loss, 0 to 1.");
    v("distillation_temperature", distillation_temperature,
      "Soft distillation: divisor of the logits; larger values show more of the unlikely labels.");
    images.visit(v);
    visit_run(v);
  }

  TestTimeOptions test_time() const { return {.flip = test_time_flip, .shift = test_time_shift}; }
  std::vector<UnusedSettings> unused() const;
};

// Zeros stand for what the data decides (with_epochs()).
ImageRecipe resolve_image_recipe(const Json& settings, std::string_view what);

// config.json of a new model of the recipe for these labels.
Json image_model_json(const ImageRecipe& recipe, const std::vector<std::string>& labels);

// preprocessor_config.json: what an image goes through when the model is used.
Json preprocessor_json(const data::ImageOptions& images);

}  // namespace attend::train
