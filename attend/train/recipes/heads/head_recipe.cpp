#include "attend/train/recipes/heads/head_recipe.h"

#include <utility>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/joined.h"
#include "attend/tasks/labelled_tasks.h"
#include "attend/train/recipes/epochs.h"
#include "attend/train/recipes/heads/new_model.h"

namespace attend::train {

namespace {
constexpr EpochOptions kHeadEpochs{.warmup_part = 10};

bool starts_from_folder(const Json& settings) {
  const auto from = settings.find("from");
  return from != settings.end() && !(from->is_string() && from->get<std::string>().empty());
}
}  // namespace

HeadRecipe resolve_head_recipe(const Json& settings, std::string_view what) {
  HeadRecipe recipe;
  if (!starts_from_folder(settings)) recipe.learning_rate = 5e-4f, recipe.epochs = 10;
  read_recipe(recipe, settings, what);
  if (!tasks::labelled_task(recipe.task)) {
    std::vector<std::string_view> known;
    for (const tasks::LabelledTask& each : tasks::kLabelledTasks) known.push_back(name_of(each.task));
    fail("{}: 'task' is '{}', but must be one of {}", what, recipe.task, joined(known, ", "));
  }
  check_one_of(what, "select", recipe.select, {"score", "loss"});
  check_one_of(what, "format", recipe.format, {"auto", "csv", "tsv", "jsonl", "conll", "squad"});
  check(recipe.max_length == 0 || recipe.max_length >= 8, "{}: 'max_length' must be 0 or at least 8, not {}", what,
        recipe.max_length);
  if (recipe.from.empty()) check_new_model(recipe, what);
  check_epochs(recipe, what);
  recipe.held_out.check(what);
  check(recipe.dropout < 1, "{}: 'dropout' must be below 1, not {}", what, recipe.dropout);
  check(!recipe.regression || recipe.task == "classify", "{}: 'regression' is for the task classify", what);
  check(recipe.label_names.empty() || (recipe.task == "classify" && !recipe.regression),
        "{}: 'label_names' are for the task classify", what);
  settle_epochs(recipe, settings, what, kHeadEpochs);
  return recipe;
}

HeadRecipe for_texts(HeadRecipe recipe, std::int64_t texts) {
  return with_epochs(std::move(recipe), texts, kHeadEpochs);
}

}  // namespace attend::train
