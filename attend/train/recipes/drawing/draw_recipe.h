// Everything that decides a run that learns to draw images of classes (Zhang et al. 2019): two networks, one against
// the other.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/json.h"
#include "attend/data/images/image_augmentation.h"
#include "attend/models/sagan.h"
#include "attend/train/recipes/recipe_json.h"
#include "attend/train/recipes/run_settings.h"

namespace attend::train {

struct DrawRecipe : RunSettings {
  std::string task = "draw";
  std::string train, valid, feature_model;
  float valid_share = 0.1f;
  Json config = Json::object();
  std::int64_t attention_stage = 2;
  std::int64_t batch = 64;
  float discriminator_rate = 4e-4f;
  std::int64_t discriminator_turns = 1;
  std::string diff_augment;
  std::int64_t drawings = 5000;
  data::ImageOptions images;

  DrawRecipe() {
    schedule = "linear", learning_rate = 1e-4f, warmup = 0, steps = 100000, clip_norm = 0;
    beta1 = 0, beta2 = 0.9f, epsilon = 1e-8f, ema = 0.999f, average = 1;
    validate_every = 5000, save_every = 5000, log_every = 100;
    images.image_size = 32, images.crop = "none", images.mean = "0.5", images.std = "0.5";
  }

  // Settings of images that a run cannot have other than they are.
  static constexpr std::array<std::string_view, 10> kFixed = {"mixup",
                                                              "cutmix",
                                                              "mix_until",
                                                              "erasing",
                                                              "cutout",
                                                              "rand_augment_operations",
                                                              "rand_augment_magnitude",
                                                              "rand_augment_varied",
                                                              "mean",
                                                              "std"};

  template <class Visitor>
  void visit(Visitor&& v) {
    v("task", task, "What to train.");
    v("train", train,
      "Training images with labels: a folder per class, a csv of path and label, or MNIST or CIFAR files.");
    v("valid", valid,
      "Validation images to compare generated images with. Without it, --valid-share of the training images is "
      "held out.");
    v("valid_share", valid_share, "Share of the images to hold out when --valid is not given.");
    v("feature_model", feature_model,
      "Folder of an image classifier whose features define the Fréchet distance. Without it, only losses are "
      "reported.");
    v("config", config,
      "Keys of the model's config.json, as a JSON object: '{\"generator_widths\":[256,256,256,256]}'.");
    v("attention_stage", attention_stage, "Generator stage after which self-attention is added; 0 means none.");
    v("batch", batch, "Images per batch.");
    v("discriminator_rate", discriminator_rate,
      "Learning rate of the discriminator. --learning-rate sets the generator's.");
    v("discriminator_turns", discriminator_turns, "Discriminator steps per generator step.");
    v("diff_augment", diff_augment,
      "DiffAugment of what the discriminator sees: translation, cutout and color, with commas between them. Empty "
      "means none.");
    v("drawings", drawings, "Number of images to generate for the Fréchet distance.");
    images.visit(v);
    visit_run(v);
  }
};

DrawRecipe resolve_draw_recipe(const Json& settings, std::string_view what);
// The model of the recipe for these labels.
models::SaganConfig draw_model_config(const DrawRecipe& recipe, const std::vector<std::string>& labels);

}  // namespace attend::train
