#include "attend/train/recipes/flops.h"

#include <fmt/core.h>

#include <system_error>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/base/progress.h"
#include "attend/catalogue/catalogue.h"
#include "attend/tasks/cost.h"
#include "attend/train/loop/trainer.h"

namespace attend::train {

namespace {

std::string operations(double count) {
  for (const auto& [size, letter] : {std::pair{1e18, "E"}, {1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}})
    if (count >= size) return fmt::format("{:.2f} {}FLOPs", count / size, letter);
  return fmt::format("{:.0f} FLOPs", count);
}

}  // namespace

double counted_flops(const std::filesystem::path& config, const std::string& items, std::int64_t length) {
  std::error_code none;
  if (!std::filesystem::exists(config, none)) return 0;
  try {
    const catalogue::ModelConfig model = catalogue::describe(read_json(config), config.string());
    const tasks::Cost cost = tasks::cost_of(model, {.length = items == "tokens" ? length : 0});
    if (cost.unit != items) return 0;
    return 2 * cost.training.multiply_adds / static_cast<double>(cost.trained);
  } catch (const Error&) {
    return 0;  // the run itself does not depend on it
  }
}

std::string flops_text(const TrainingResult& result, int devices, double rate) {
  if (result.flops <= 0 || result.steps <= 0) return {};
  std::string text =
      fmt::format("Counted: {} per step, {} in {} steps", operations(result.flops / static_cast<double>(result.steps)),
                  operations(result.flops), with_commas(result.steps));
  if (rate > 0)
    text += fmt::format("; time x devices x rate, as Vaswani et al. 2017 report it: {:.3f} h x {} x {}/s = {}",
                        result.seconds / 3600, devices, operations(rate), operations(result.seconds * devices * rate));
  return text + ".\n";
}

}  // namespace attend::train
