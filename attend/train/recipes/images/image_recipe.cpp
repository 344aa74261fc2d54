#include "attend/train/recipes/images/image_recipe.h"

#include "attend/base/error.h"
#include "attend/base/fields.h"
#include "attend/models/hugging_face_config.h"
#include "attend/models/mvit.h"
#include "attend/train/recipes/epochs.h"

namespace attend::train {

namespace {

bool is_vit(const std::string& model) { return model == "vit" || model == "vit_conv" || model == "vit_hybrid"; }

constexpr int kBilinear = 2;  // as Pillow counts its filters

}  // namespace

void check_image_model(const std::string& model, std::string_view what) {
  check_one_of(what, "model", model, {"vit", "vit_conv", "vit_hybrid", "swin", "mvit", "mvit_v1", "resnet", "resnet9"});
}

std::vector<UnusedSettings> unused_of_vit(const std::string& model) {
  if (model == "vit_hybrid")
    return {{.keys = {"patch_size"},
             .why = "is for vit and vit_conv; a patch of a vit_hybrid is one place of its ResNet, unless 'config' sets "
                    "another patch_size"}};
  if (is_vit(model)) return {};
  return {{.keys = {"patch_size", "width", "layers", "heads", "hidden", "dropout"},
           .why = fmt::format("is for vit; give a {} its shape in 'config'", model)}};
}

std::vector<UnusedSettings> ImageRecipe::unused() const {
  std::vector<UnusedSettings> list = unused_of_vit(model);
  if (model != "resnet9") list.push_back({.keys = {"dirac", "whitening_floor"}, .why = "is for resnet9"});
  if (teacher.empty())
    list.push_back(
        {.keys = {"distillation", "distillation_weight", "distillation_temperature"}, .why = "needs a 'teacher'"});
  else if (distillation == "hard")
    list.push_back({.keys = {"distillation_temperature"}, .why = "is for soft distillation"});
  return list;
}

ImageRecipe resolve_image_recipe(const Json& settings, std::string_view what) {
  ImageRecipe recipe;
  read_recipe(recipe, settings, what);
  check_one_of(what, "task", recipe.task, {"classify-images"});
  check_one_of(what, "select", recipe.select, {"score", "loss"});
  check_image_model(recipe.model, what);
  check(recipe.model == "resnet" || recipe.self_attention == 0,
        "{}: 'self_attention' is for resnet; a {} has attention of its own", what, recipe.model);
  check_epochs(recipe, what);
  check(recipe.label_smoothing >= 0 && recipe.label_smoothing < 1,
        "{}: 'label_smoothing' must be at least 0 and below 1, not {}", what, recipe.label_smoothing);
  check_one_of(what, "distillation", recipe.distillation, {"hard", "soft"});
  check(recipe.distillation_weight >= 0 && recipe.distillation_weight <= 1,
        "{}: 'distillation_weight' must be between 0 and 1, not {}", what, recipe.distillation_weight);
  check(recipe.distillation_temperature >= 0.01f && recipe.distillation_temperature <= 1000,
        "{}: 'distillation_temperature' must be between 0.01 and 1000, not {}", what, recipe.distillation_temperature);
  check(recipe.test_time_shift >= 0 && recipe.test_time_shift < recipe.images.image_size,
        "{}: 'test_time_shift' must be at least 0 and below 'image_size', {}, not {}", what, recipe.images.image_size,
        recipe.test_time_shift);
  check(recipe.whitening_floor > 0 && recipe.whitening_floor <= 1,
        "{}: 'whitening_floor' must be above 0 and at most 1, not {}", what, recipe.whitening_floor);
  check_images(recipe, what);
  settle_epochs(recipe, settings, what);
  return recipe;
}

Json image_model_json(const ImageRecipe& recipe, const std::vector<std::string>& labels) {
  Json json = {{"model_type", recipe.model}, {"image_size", recipe.images.image_size}, {"num_channels", 3}};
  if (recipe.drop_path > 0) json["drop_path_rate"] = recipe.drop_path;
  if (is_vit(recipe.model))
    json.update({{"architectures", Json::array({"ViTForImageClassification"})},
                 {"patch_size", recipe.model == "vit_hybrid" ? 1 : recipe.patch_size},
                 {"hidden_size", recipe.width},
                 {"num_hidden_layers", recipe.layers},
                 {"num_attention_heads", recipe.heads},
                 {"intermediate_size", recipe.hidden > 0 ? recipe.hidden : 4 * recipe.width},
                 {"hidden_dropout_prob", recipe.dropout}});
  else if (recipe.model == "swin")
    json["architectures"] = Json::array({"SwinForImageClassification"});
  else if (recipe.model == "resnet9")
    json["architectures"] = Json::array({"ResNet9ForImageClassification"});
  else if (recipe.model == "resnet")
    json.update({{"architectures", Json::array({"ResNetForImageClassification"})},
                 {"self_attention_stage", recipe.self_attention}});
  else
    json["architectures"] = Json::array({"MViTForImageClassification"});
  if (recipe.model == "mvit_v1") {  // the same network with other settings
    json["model_type"] = "mvit";
    json.update(models::mvit_v1_json());
  }
  json.update(recipe.config);
  models::write_labels(json, labels);
  return json;
}

Json preprocessor_json(const data::ImageOptions& images) {
  const image::PreprocessorConfig config = images.evaluation();
  const bool cropped = config.crop.has_value();
  Json json = {{"image_processor_type", cropped ? "ConvNextImageProcessor" : "ViTImageProcessor"},
               {"do_resize", true},
               {"resample", kBilinear},
               {"do_rescale", true},
               {"rescale_factor", config.rescale},
               {"do_normalize", true},
               {"image_mean", config.mean},
               {"image_std", config.std}};
  if (cropped)
    json.update({{"size", {{"shortest_edge", images.image_size}}}, {"crop_pct", 0.875}});
  else
    json.update({{"size", {{"height", images.image_size}, {"width", images.image_size}}}});
  return json;
}

}  // namespace attend::train
