#include "attend/train/recipes/recipe_json.h"

#include <algorithm>
#include <utility>

#include "attend/base/error.h"

namespace attend::train {

void check_unused(std::span<const UnusedSettings> unused, const Json& settings, const Json& usual,
                  std::string_view what) {
  for (const UnusedSettings& group : unused) {
    // A file that a run wrote has all of them, a person names one or two.
    const bool by_run = std::ranges::all_of(group.keys, [&](const std::string& key) { return settings.contains(key); });
    for (const std::string& key : group.keys) {
      const auto told = settings.find(key), otherwise = usual.find(key);
      const bool untold = told == settings.end() || (by_run && otherwise != usual.end() && *told == *otherwise);
      check(untold, "{}: '{}' {}", what, key, group.why);
    }
  }
}

void leave_out(std::span<const UnusedSettings> unused, Json& recipe) {
  for (const UnusedSettings& group : unused)
    for (const std::string& key : group.keys) recipe.erase(key);
}

std::vector<UnusedSettings> unused_of_optimizer(const RunSettings& settings) {
  if (settings.optimizer == "sgd") return {{.keys = {"beta1", "beta2", "epsilon"}, .why = "is for adamw"}};
  if (settings.optimizer != "adamw") return {};  // check_settings() names it
  return {{.keys = {"momentum", "nesterov"}, .why = "is for sgd; set 'optimizer'"}};
}

UnusedSettings decided_by_folder(std::vector<std::string> keys) {
  return {std::move(keys), "is what the folder says that 'from' names; leave it out"};
}

}  // namespace attend::train
