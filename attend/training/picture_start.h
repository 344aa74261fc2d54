// What a run that fine-tunes a model on pictures starts from: another folder's model with a new head, and positions for
// another resolution.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "attend/catalogue/catalogue.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/training/picture_recipe.h"

namespace attend::tasks {

// config.json of the folder's model for these labels and the recipe's picture size.
Json picture_start_json(const catalogue::ModelConfig& start, const PictureRecipe& recipe,
                        const std::vector<std::string>& labels);

// The folder's weights. A head for other labels stays new; a table of positions for another grid is stretched to this
// one's (bicubic, as Dosovitskiy et al. 2020, section 3.2, and transformers have it).
LoadReport load_picture_start(const std::filesystem::path& folder, nn::Parameters& parameters);

}  // namespace attend::tasks
