// What a run that fine-tunes a model on images starts from: another folder's model with a new head, and positions for
// another resolution.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "attend/catalogue/catalogue.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/train/recipes/images/image_recipe.h"

namespace attend::train {

// config.json of the recipe's model for these labels: a new one where from is empty, or that of the folder from for the
// recipe's image size. Throws Error for a key of the recipe's 'config' that such a model does not read.
Json image_config(const std::filesystem::path& from, const ImageRecipe& recipe, const std::vector<std::string>& labels,
                  std::string_view what);

// The folder's weights. A head for other labels stays new; a table of positions for another grid is stretched to this
// one's (bicubic, as Dosovitskiy et al. 2020, section 3.2, and transformers have it).
checkpoint::LoadReport load_image_start(const std::filesystem::path& folder, nn::Parameters& parameters);

}  // namespace attend::train
