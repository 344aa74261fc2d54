#include "attend/train/recipes/detection/detect_recipe.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "attend/base/error.h"
#include "attend/base/fields.h"
#include "attend/catalogue/catalogue.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/models/hugging_face_config.h"
#include "attend/train/recipes/epochs.h"
#include "attend/train/recipes/start_folder.h"

namespace attend::train {

namespace {

constexpr float kPaperBackboneRate = 0.1f;

// The backbone of a folder that classifies, as a DETR's config.json has it.
Json backbone_json(const std::string& folder, const std::string& out) {
  const catalogue::ModelConfig start = catalogue::read_config(start_folder(folder, out));
  models::ResNetConfig backbone = models::resnet_config(start.json, start.path);
  backbone.labels.clear(), backbone.architecture.clear();
  backbone.drop_path = 0;  // how a detector learns is its own
  return models::resnet_json(backbone);
}

Json small_backbone_json() {
  return {{"model_type", "resnet"},
          {"layer_type", "basic"},
          {"embedding_size", 64},
          {"depths", {2, 2, 2}},
          {"hidden_sizes", {64, 128, 256}}};
}

// A folder's config.json may say more than is read; what somebody wrote for this run is all meant.
void check_detect_keys(const Json& config) {
  std::vector<std::string> known = field_names(models::DetrConfig()), of_backbone = field_names(models::ResNetConfig());
  known.emplace_back("backbone_config");
  check_keys(config, known, "config");
  const auto backbone = config.find("backbone_config");
  if (backbone == config.end()) return;
  check(backbone->is_object(), "config: 'backbone_config' must be an object, not {}", backbone->dump());
  for (const char* other : {"model_type", "depths", "hidden_sizes"}) of_backbone.emplace_back(other);
  check_keys(*backbone, of_backbone, "config: backbone_config");
}

}  // namespace

float DetectRecipe::rate_of_backbone() const {
  return backbone_rate >= 0 ? backbone_rate : pretrained() ? kPaperBackboneRate : 1;
}

DetectRecipe resolve_detect_recipe(const Json& settings, std::string_view what) {
  DetectRecipe recipe;
  read_recipe(recipe, settings, what);
  check_one_of(what, "task", recipe.task, {"detect"});
  check_one_of(what, "select", recipe.select, {"score", "loss"});
  check_one_of(what, "norms", recipe.norms, {"auto", "live", "frozen"});
  check(recipe.from.empty() || recipe.backbone.empty(), "{}: 'from' and 'backbone' exclude each other", what);
  check_epochs(recipe, what);
  check(std::isfinite(recipe.backbone_rate) && (recipe.backbone_rate == -1 || recipe.backbone_rate >= 0),
        "{}: 'backbone_rate' must be -1 (as usual), 0 or more, not {}", what, recipe.backbone_rate);
  check_images(recipe, what);
  settle_epochs(recipe, settings, what);
  check_detect_keys(recipe.config);
  return recipe;
}

models::DetrConfig new_detr(const DetectRecipe& recipe, const std::vector<std::string>& labels) {
  return changed_detr({{"model_type", "detr"},
                       {"architectures", Json::array({"DetrForObjectDetection"})},
                       {"num_queries", recipe.queries},
                       {"d_model", recipe.width},
                       {"encoder_layers", recipe.encoder_layers},
                       {"encoder_attention_heads", recipe.heads},
                       {"encoder_ffn_dim", recipe.hidden},
                       {"decoder_layers", recipe.decoder_layers},
                       {"decoder_attention_heads", recipe.heads},
                       {"decoder_ffn_dim", recipe.hidden},
                       {"dropout", recipe.dropout},
                       {"backbone_config",
                        recipe.backbone.empty() ? small_backbone_json() : backbone_json(recipe.backbone, recipe.out)}},
                      recipe, labels);
}

models::DetrConfig changed_detr(Json start, const DetectRecipe& recipe, const std::vector<std::string>& labels) {
  const std::string what = recipe.out + "/config.json";
  Json changes = recipe.config;
  if (const auto backbone = changes.find("backbone_config"); backbone != changes.end()) {
    const auto own = start.find("backbone_config");
    check(own != start.end() && own->is_object(),
          "{}: 'backbone_config' cannot be changed, because the model to start from has a backbone of timm", what);
    Json all = *own;
    all.update(*backbone);
    changes["backbone_config"] = std::move(all);
  }
  start.update(changes);
  models::write_labels(start, labels);
  models::DetrConfig config = models::detr_config(start, what);
  config.frozen_norms = recipe.norms == "frozen" || (recipe.norms == "auto" && recipe.pretrained());
  return config;
}

Json detr_preprocessor_json(const data::DetectionOptions& images) {
  const image::PreprocessorConfig config = images.evaluation();
  const std::int64_t size = images.image_size;
  return {{"image_processor_type", "DetrImageProcessor"},
          {"do_resize", true},
          {"size", {{"shortest_edge", size}, {"longest_edge", size}}},
          {"resample", static_cast<int>(config.filter)},
          {"do_rescale", true},
          {"rescale_factor", config.rescale},
          {"do_normalize", true},
          {"image_mean", config.mean},
          {"image_std", config.std},
          {"do_pad", true},
          {"pad_size", {{"height", size}, {"width", size}}},
          {"format", "coco_detection"}};
}

}  // namespace attend::train
