// The tasks that put a head on a text model and learn it from labelled texts. A new one whose targets are of a known
// kind is a row here: training, evaluation and messages read the table.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "attend/catalogue/catalogue.h"
#include "attend/data/text/labelled_text.h"
#include "attend/tasks/head_batch.h"

namespace attend::tasks {

struct LabelledTask {
  catalogue::Task task;
  TargetKind kind;            // label: number, if the model or its recipe says regression
  data::Labelling labelling;  // what its files hold

  TargetKind kind_for(bool regression) const {
    return regression && kind == TargetKind::label ? TargetKind::number : kind;
  }
};
inline constexpr LabelledTask kLabelledTasks[] = {
    {catalogue::Task::classify, TargetKind::label, data::Labelling::text},
    {catalogue::Task::tag, TargetKind::tags, data::Labelling::words},
    {catalogue::Task::answer, TargetKind::span, data::Labelling::answers},
};

// Null for a task that is not one of them.
inline const LabelledTask* labelled_task(catalogue::Task task) {
  const auto* found = std::ranges::find(kLabelledTasks, task, &LabelledTask::task);
  return found == std::end(kLabelledTasks) ? nullptr : found;
}
inline const LabelledTask* labelled_task(std::string_view name) {
  const auto* found =
      std::ranges::find(kLabelledTasks, name, [](const LabelledTask& each) { return name_of(each.task); });
  return found == std::end(kLabelledTasks) ? nullptr : found;
}

}  // namespace attend::tasks
