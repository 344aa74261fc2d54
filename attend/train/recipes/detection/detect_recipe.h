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
    v("task", task, "What to train.");
    v("train", train, "Training data: a COCO instances_*.json or the Penn-Fudan folder.");
    v("valid", valid,
      "Validation data in the same format. Without it, --valid-share of the training images is held out.");
    v("valid_share", valid_share, "Share of the images to hold out when --valid is not given.");
    v("test", test, "Test data in the same format, evaluated after training. Results go to test.json in --out.");
    v("images", images_folder, "Folder of the COCO images. By default it is searched for next to the file.");
    v("from", from, "Model folder to fine-tune: a DETR from the Hugging Face hub or from attend train.");
    v("backbone", backbone, "Folder of a ResNet classifier to initialise the backbone from.");
    v("config", config, "Keys of DETR's config.json, as a JSON object: '{\"backbone_config\":{\"depths\":[2,2,2]}}'.");
    v("width", width, "Model width.");
    v("heads", heads, "Attention heads; must divide the width.");
    v("hidden", hidden, "Width of the feed-forward layers.");
    v("encoder_layers", encoder_layers, "Number of encoder layers.");
    v("decoder_layers", decoder_layers, "Number of decoder layers.");
    v("queries", queries, "Number of object queries: the maximum number of objects per image.");
    v("dropout", dropout, "Dropout on sublayer outputs.");
    v("auxiliary", auxiliary, "Add the detection loss after every decoder layer, not only the last.");
    v("norms", norms,
      "Batch norms of the backbone: live uses batch statistics, frozen the stored ones, auto is live when "
      "training from scratch.");
    v("backbone_rate", backbone_rate,
      "Learning rate of the backbone, relative to --learning-rate; -1 means 1 from scratch and 0.1 (as in the "
      "paper) when fine-tuning.");
    v("batch", batch, "Images per batch.");
    v("epochs", epochs, "Passes over the images. Sets --steps when that is 0.");
    v("select", select, "Criterion for the best weights: score (AP) or loss.");
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
