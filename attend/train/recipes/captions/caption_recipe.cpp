#include "attend/train/recipes/captions/caption_recipe.h"

#include "attend/base/error.h"
#include "attend/train/recipes/epochs.h"

namespace attend::train {

CaptionRecipe resolve_caption_recipe(const Json& settings, std::string_view what) {
  CaptionRecipe recipe;
  read_recipe(recipe, settings, what);
  check_one_of(what, "task", recipe.task, {"describe"});
  check_one_of(what, "select", recipe.select, {"cider", "bleu", "loss"});
  check_one_of(what, "decoder", recipe.decoder, {"show-tell", "show-attend-tell", "transformer"});
  check_image_model(recipe.model, what);
  for (const char* key : {"vocabulary", "max_length"})
    check(!recipe.decoder_config.contains(key), "{}: '{}' of 'decoder_config' is decided by {}", what, key,
          std::string_view(key) == "vocabulary" ? "the tokenizer" : "'max_length' of the recipe");
  check(recipe.batch >= 1 && recipe.least_count >= 1 && recipe.max_length >= 1 && recipe.score_images >= 0,
        "{}: 'batch' {}, 'least_count' {} and 'max_length' {} must be at least 1, 'score_images' {} at least 0", what,
        recipe.batch, recipe.least_count, recipe.max_length, recipe.score_images);
  check_epochs(recipe, what);
  check(recipe.label_smoothing >= 0 && recipe.label_smoothing < 1,
        "{}: 'label_smoothing' must be at least 0 and below 1, not {}", what, recipe.label_smoothing);
  check(recipe.encoder_rate >= 0, "{}: 'encoder_rate' cannot be {}", what, recipe.encoder_rate);
  check(recipe.encoder_rate > 0 || !recipe.encoder.empty(),
        "{}: 'encoder_rate' is 0, but an encoder from scratch has to learn; name one to start from with 'encoder'",
        what);
  check(recipe.images.mixup == 0 && recipe.images.cutmix == 0,
        "{}: 'mixup' and 'cutmix' are for labels; a caption is about one image", what);
  check(recipe.score_images > 0 || recipe.select == "loss", "{}: 'score_images' is 0, so 'select' must be loss, not {}",
        what, recipe.select);
  check_images(recipe, what);
  settle_epochs(recipe, settings, what);
  return recipe;
}

ImageRecipe encoder_recipe(const CaptionRecipe& recipe) {
  ImageRecipe encoder;
  encoder.model = recipe.model, encoder.config = recipe.config;
  encoder.patch_size = recipe.patch_size, encoder.width = recipe.width, encoder.layers = recipe.layers;
  encoder.heads = recipe.heads, encoder.hidden = recipe.hidden;
  encoder.dropout = recipe.dropout, encoder.drop_path = recipe.drop_path;
  encoder.images = recipe.images;
  return encoder;
}

}  // namespace attend::train
