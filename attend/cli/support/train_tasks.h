// The flags of attend train for each task: the fields of its recipe.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/json.h"
#include "attend/cli/support/flags.h"
#include "attend/train/recipes/trainings.h"

namespace attend::cli {

using train::trained_tasks;
using train::TrainedTask;

// Throws Error naming those there are; what opens the message.
const TrainedTask& trained_task(const Json& settings, std::string_view what);

// attend and the words of task.use, for a shell. image "": there is none; then its data is evaluated.
std::string use_command(const TrainedTask& task, const train::Training& training, const std::string& image);

// "--label-smoothing" of "label_smoothing".
std::string flag_of(std::string_view field);

// The tasks whose recipes have a field of this name, and do not refuse it.
std::vector<std::string_view> tasks_with(std::string_view field);

// The list of tasks for --help.
std::vector<HelpEntry> task_topics();

// The task that --task names on the command line, or that of a recipe there; "" when there is neither.
std::string task_in(std::span<const std::string> words);

// All flags of all tasks; what is given lands in `given` under the field's name. --help shows those of the task that
// the words name, with its defaults, or else those that all tasks have.
void add_task_flags(Flags& flags, Json& given, std::span<const std::string> words);

// Throws Error for a setting from the command line that the task, or the model that the settings name, does not have,
// naming those it belongs to.
void check_flags_fit(const TrainedTask& task, const Json& given, const Json& settings);
// Throws Error naming what the task needs and the settings do not have, as flags.
void check_needs(const TrainedTask& task, const Json& settings, std::string_view what);

}  // namespace attend::cli
