#include "attend/train/recipes/automatic/plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "attend/base/error.h"
#include "attend/base/progress.h"
#include "attend/base/unicode/unicode.h"

namespace attend::train {

namespace {

constexpr double kTrainingShare = 0.85;  // of the budget; the rest is for reading, measuring and the last evaluation
constexpr std::int64_t kValidations = 10, kPatience = 5;

struct TaskPlan {
  std::string_view task;
  Plan (*plan)(const Planned&);
};
constexpr TaskPlan kPlans[] = {{"translation", plan_translation},
                               {"language-model", plan_language},
                               {"classify", plan_texts},
                               {"tag", plan_texts},
                               {"answer", plan_texts},
                               {"masked-lm", plan_masked},
                               {"classify-images", plan_images},
                               {"detect", plan_detection},
                               {"describe", plan_captions}};

}  // namespace

bool has_plan(std::string_view task) {
  return std::ranges::any_of(kPlans, [&](const TaskPlan& one) { return one.task == task; });
}

Plan plan_for(std::string_view task, const Planned& from) {
  for (const TaskPlan& one : kPlans)
    if (one.task == task) return one.plan(from);
  fail("there are no automatic settings for --task {}", task);
}

float held_out_share(std::int64_t examples) {
  constexpr double kEnough = 200, kMost = 0.1, kLeast = 0.002;
  const double share = std::clamp(kEnough / static_cast<double>(std::max<std::int64_t>(examples, 1)), kLeast, kMost);
  return static_cast<float>(std::round(share * 1000) / 1000);
}

void settle_steps(Plan& plan, const Budget& budget, const Timing& timing) {
  const double available = kTrainingShare * budget.seconds;
  // Validations beside the steps: ten in a run, fewer where each takes long.
  const double validation = std::max(timing.validation, 0.0);
  const auto affordable = validation > 0 ? static_cast<std::int64_t>(0.25 * available / validation) : kValidations;
  const std::int64_t validations = std::clamp<std::int64_t>(affordable, 2, kValidations);
  const double left = std::max(available - static_cast<double>(validations) * validation, 0.25 * available);
  const double fit = left / std::max(timing.step, 1e-6);
  const auto steps = std::max<std::int64_t>(
      1, fit < static_cast<double>(plan.wanted_steps) ? static_cast<std::int64_t>(fit) : plan.wanted_steps);
  const std::int64_t every = std::max<std::int64_t>(1, (steps + validations - 1) / validations);
  plan.settings.update(Json{{"steps", steps},
                            {"warmup", std::max<std::int64_t>(1, steps / 15)},
                            {"validate_every", every},
                            {"save_every", every},
                            {"log_every", std::max<std::int64_t>(1, std::min<std::int64_t>(50, every / 2))},
                            {"patience", kPatience}});
  const double seconds = static_cast<double>(steps) * timing.step + static_cast<double>(validations) * validation;
  const std::string epochs = fmt::format(
      "{:.1f}", static_cast<double>(steps) / static_cast<double>(std::max<std::int64_t>(1, plan.epoch_steps)));
  plan.table.push_back({"steps", with_commas(steps),
                        fmt::format("{} passes over the data; {:.2g} s a step measured here, {} of {}", epochs,
                                    timing.step, duration_text(seconds), duration_text(budget.seconds)),
                        "--steps"});
  plan.table.push_back({"early stopping", fmt::format("after {} validations", kPatience),
                        fmt::format("without a better score; a validation every {} steps", with_commas(every)),
                        "--patience"});
}

std::string table_text(const std::vector<Chosen>& table) {
  std::vector<Chosen> rows = table;
  rows.insert(rows.begin(), {"setting", "chosen", "why", "otherwise"});
  std::size_t widths[3] = {0, 0, 0};
  const auto columns = [](const Chosen& row) {
    return std::vector<const std::string*>{&row.what, &row.value, &row.why};
  };
  for (const Chosen& row : rows)
    for (std::size_t i = 0; i < 3; ++i) widths[i] = std::max(widths[i], count_characters(*columns(row)[i]));
  std::string text;
  for (const Chosen& row : rows) {
    text += " ";
    for (std::size_t i = 0; i < 3; ++i)
      text += " " + *columns(row)[i] + std::string(widths[i] - count_characters(*columns(row)[i]) + 1, ' ');
    text += " " + row.flag + "\n";
  }
  return text;
}

}  // namespace attend::train
