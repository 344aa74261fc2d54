// Everything that decides a run that learns to find things in images (Carion et al. 2020): from scratch, with the
// backbone of a classifier, or from a DETR.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/json.h"
#include "attend/data/images/detection_augmentation.h"
#include "attend/models/detr.h"
#include "attend/train/recipes/recipe_json.h"
#include "attend/train/recipes/run_settings.h"

namespace attend::train {

struct DetectRecipe : RunSettings {
  std::string task = "detect";
  std::string from, backbone;
  Json config = Json::object();
  std::string train, valid, test, images_folder;
  float valid_share = 0.1f;
  std::int64_t width = 256, heads = 8, hidden = 1024, encoder_layers = 3, decoder_layers = 3, queries = 25;
  float dropout = 0;
  bool auxiliary = true;
  std::string norms = "auto";
  float backbone_rate = -1;
  std::int64_t batch = 32;
  float epochs = 50;
  std::string select = "score";
  data::DetectionOptions images;

  DetectRecipe() {
    schedule = "cosine", learning_rate = 2e-4f, warmup = -1, steps = 0, clip_norm = 0.1f;
    weight_decay = 1e-4f, beta2 = 0.999f, epsilon = 1e-8f, average = 1;
    validate_every = 0, save_every = 0, log_every = 50;
  }

  template <class Visitor>
  void visit(Visitor&& v) {
    v("task", task, "what is trained");
    v("train", train, "detect: COCO's instances_*.json, or Penn-Fudan's folder");
    v("valid", valid, "the same to validate on; without, --valid-share of the others is held out");
    v("valid_share", valid_share, "of the images, held out where there is no --valid");
    v("test", test, "the same to evaluate the finished model on; test.json in --out has the result");
    v("images", images_folder, "detect: the folder of COCO's images of all sets; without, they are looked for");
    v("from", from, "a model folder to go on from: a DETR of Hugging Face's hub, or one of ours");
    v("backbone", backbone, "detect: the folder of a ResNet that classifies, whose layers are taken over");
    v("config", config,
      "detect: keys of DETR's config.json, as an object: '{\"backbone_config\": {\"depths\": [2, 2, 2]}}'");
    v("width", width, "of the model");
    v("heads", heads, "of attention; they divide the width");
    v("hidden", hidden, "width inside the feed-forward layers");
    v("encoder_layers", encoder_layers, "how many");
    v("decoder_layers", decoder_layers, "how many");
    v("queries", queries, "detect: the most objects of an image");
    v("dropout", dropout, "of what each sublayer adds");
    v("auxiliary", auxiliary, "detect: every layer of the decoder learns to find the objects, not only the last");
    v("norms", norms,
      "detect: the backbone's batch norms go by the batch (live) or by what they have learned before (frozen); auto: "
      "live from scratch");
    v("backbone_rate", backbone_rate,
      "detect: the backbone's learning rate, times the run's; -1: 1 from scratch, else the paper's 0.1");
    v("batch", batch, "images a batch");
    v("epochs", epochs, "times through the images; decides the steps where those are 0");
    v("select", select, "which weights are best: by score (AP) or by loss");
    images.visit(v);
    visit_run(v);
  }

  std::vector<UnusedSettings> unused() const {
    if (from.empty()) return {};
    return {{.keys = {"width", "heads", "hidden", "encoder_layers", "decoder_layers", "queries", "dropout"},
             .why = "is decided by the model in 'from'; 'config' changes it"}};
  }
  bool pretrained() const { return !from.empty() || !backbone.empty(); }
  float rate_of_backbone() const;  // times the run's
};

// Zeros stand for what the data decides (with_epochs()).
DetectRecipe resolve_detect_recipe(const Json& settings, std::string_view what);

// A new model of the recipe for these labels; ours: of 3 stages and a stride of 16, unless 'config' says otherwise.
models::DetrConfig new_detr(const DetectRecipe& recipe, const std::vector<std::string>& labels);
// The model of a config.json for these labels, changed by 'config'.
models::DetrConfig changed_detr(Json start, const DetectRecipe& recipe, const std::vector<std::string>& labels);
Json detr_preprocessor_json(const data::DetectionOptions& images);

}  // namespace attend::train
