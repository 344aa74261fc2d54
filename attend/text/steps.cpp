#include "attend/text/steps.h"

#include "attend/base/limits.h"
#include "attend/text/json_view.h"

namespace attend::text {

namespace {

// Every step is an object with a type. The parser bounds how deep this goes.
std::size_t count_steps(const Json& json) {
  std::size_t count = json.is_object() && json.contains("type") ? 1 : 0;
  if (json.is_object() || json.is_array())
    for (const Json& part : json) count += count_steps(part);
  return count;
}

}  // namespace

void check_steps(const JsonView& part) {
  const std::size_t count = count_steps(part.value());
  if (count > limits::kMostSteps)
    part.complain("has {} steps; the most is {} (kMostSteps in attend/base/limits.h)", count, limits::kMostSteps);
}

}  // namespace attend::text
