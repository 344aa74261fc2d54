#include "attend/train/recipes/drawing/draw_recipe.h"

#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/fields.h"
#include "attend/models/hugging_face_config.h"
#include "attend/train/recipes/drawing/diff_augment.h"
#include "attend/train/recipes/epochs.h"

namespace attend::train {

namespace {

// A folder's config.json may say more than is read; what somebody wrote for this run is all meant.
void check_draw_keys(const Json& config) {
  std::vector<std::string> known = field_names(models::SaganConfig());
  for (const char* list : {"generator_widths", "discriminator_widths"}) known.emplace_back(list);
  check_keys(config, known, "config");
}

}  // namespace

DrawRecipe resolve_draw_recipe(const Json& settings, std::string_view what) {
  DrawRecipe recipe;
  read_recipe(recipe, settings, what);
  check_one_of(what, "task", recipe.task, {"draw"});
  check(recipe.batch >= 2, "{}: 'batch' must be at least 2, not {}", what, recipe.batch);
  check(recipe.discriminator_turns >= 1, "{}: 'discriminator_turns' must be at least 1, not {}", what,
        recipe.discriminator_turns);
  check(recipe.learning_rate > 0 && recipe.discriminator_rate > 0,
        "{}: 'learning_rate' and 'discriminator_rate' must be above 0, not {} and {}", what, recipe.learning_rate,
        recipe.discriminator_rate);
  diff_augment_named(recipe.diff_augment, what);
  check(recipe.drawings >= 2, "{}: 'drawings' must be at least 2, not {}", what, recipe.drawings);
  check(recipe.images.mixup == 0 && recipe.images.cutmix == 0 && recipe.images.erasing == 0 &&
            recipe.images.cutout == 0 && recipe.images.rand_augment_operations == 0,
        "{}: mixup, cutmix, erasing, cutout and rand_augment would be learned as part of the images; leave them out, "
        "or use "
        "diff_augment",
        what);
  check((recipe.images.mean == "0.5" || recipe.images.mean == "0.5,0.5,0.5") &&
            (recipe.images.std == "0.5" || recipe.images.std == "0.5,0.5,0.5"),
        "{}: drawings lie between -1 and 1, so 'mean' and 'std' must be 0.5, not {} and {}", what, recipe.images.mean,
        recipe.images.std);
  check_images(recipe, what);
  settle_settings(recipe, DrawRecipe(), settings, what);
  check_settings(recipe, what);
  check_draw_keys(recipe.config);
  draw_model_config(recipe, {"any"});
  return recipe;
}

models::SaganConfig draw_model_config(const DrawRecipe& recipe, const std::vector<std::string>& labels) {
  Json json = {{"model_type", "sagan"}, {"attention_stage", recipe.attention_stage}};
  json.update(recipe.config);
  models::write_labels(json, labels);
  const models::SaganConfig config = models::sagan_config(json, "config");
  check(config.image_size() == recipe.images.image_size,
        "config: 'generator_widths' has {} stages, which draw {} x {}, but 'image_size' is {}", config.stages(),
        config.image_size(), config.image_size(), recipe.images.image_size);
  return config;
}

}  // namespace attend::train
