// Settings of a run from JSON and back, for every recipe: what a run writes as recipe.json reads back as the same
// recipe, whatever the run started from.
//
// Some settings mean nothing beside others: the width of a ViT for a ResNet, the layers of a model that another folder
// decides. A recipe lists them in unused(). They are refused where somebody names them, and left out of recipe.json.
#pragma once

#include <concepts>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/fields.h"
#include "attend/base/json.h"
#include "attend/base/old_names.h"
#include "attend/train/recipes/run_settings.h"

namespace attend::train {

struct UnusedSettings {
  std::vector<std::string> keys;
  std::string why;  // behind the name of the setting: "is for vit"
};

// Throws Error naming a setting that is unused. Runs of older versions wrote them all, as they are in `usual`, and are
// resumed all the same.
void check_unused(std::span<const UnusedSettings> unused, const Json& settings, const Json& usual,
                  std::string_view what);
void leave_out(std::span<const UnusedSettings> unused, Json& recipe);

// The folder that a run starts from decides these.
UnusedSettings decided_by_folder(std::vector<std::string> keys);

// Settings of the optimiser that the run does not use.
std::vector<UnusedSettings> unused_of_optimizer(const RunSettings& settings);

// Sets what the settings name; the other members keep their values. what (a path) opens every message.
template <std::derived_from<RunSettings> Recipe>
void read_recipe(Recipe& recipe, const Json& given, std::string_view what) {
  const Json settings = with_current_names(given, what);
  read_fields(recipe, settings, what);
  check_unused(unused_of_optimizer(recipe), settings, write_fields(Recipe()), what);
  if constexpr (requires { recipe.unused(); }) check_unused(recipe.unused(), settings, write_fields(Recipe()), what);
}

// As recipe.json holds it.
template <std::derived_from<RunSettings> Recipe>
Json to_json(const Recipe& recipe) {
  Json json = write_fields(recipe);
  leave_out(unused_of_optimizer(recipe), json);
  if (recipe.optimizer == RunSettings().optimizer) json.erase("optimizer");  // as runs of older versions wrote it
  if constexpr (requires { recipe.unused(); }) leave_out(recipe.unused(), json);
  if constexpr (requires { recipe.leave_out_of(json); }) recipe.leave_out_of(json);
  if constexpr (requires { recipe.window.leave_out_of(json); }) recipe.window.leave_out_of(json);
  if constexpr (requires { recipe.held_out.leave_out_of(json); }) recipe.held_out.leave_out_of(json);
  if constexpr (requires { recipe.leave_out_of(json); }) recipe.leave_out_of(json);
  return json;
}

}  // namespace attend::train
