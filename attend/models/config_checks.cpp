// Checks of model settings. Limits keep an untrusted config.json from exhausting memory.
#include "attend/models/config_checks.h"

#include <fmt/core.h>

#include <cmath>
#include <limits>

#include "attend/base/error.h"
#include "attend/base/limits.h"

namespace attend::models {

void check_within(std::string_view what, std::string_view name, std::int64_t value, std::int64_t least,
                  std::int64_t most) {
  check(value >= least && value <= most, "{}: {} must be {} to {}, not {}", what, name, least, most, value);
}

void check_limited(std::string_view what, std::string_view name, std::int64_t value, std::int64_t least,
                   std::int64_t most) {
  // The first check exists for its message, which says that the limit is ours.
  check(value <= most, "{}: {} must be {} to {} (a limit of attend/base/limits.h), not {}", what, name, least, most,
        value);
  check_within(what, name, value, least, most);
}

void check_heads(std::string_view what, std::int64_t width, std::int64_t heads) {
  check_within(what, "the number of heads", heads, 1, width);
  const auto fit = [&](std::int64_t count) { return width % count == 0 && width / count % 8 == 0; };
  if (fit(heads)) return;
  // The message suggests the next smaller number of heads that fits.
  std::int64_t fewer = heads;
  while (fewer > 1 && !fit(fewer)) --fewer;
  fail("{}: width {} over {} heads must give heads of a multiple of 8{}", what, width, heads,
       fit(fewer) ? fmt::format("; {} would", fewer) : "; the width itself is none");
}

void check_rate(std::string_view what, std::string_view name, float rate) {
  check(rate >= 0 && rate < 1, "{}: {} must be at least 0 and below 1, not {}", what, name, rate);
}

void check_positive(std::string_view what, std::string_view name, float value) {
  check(value >= 0 && std::isfinite(value), "{}: {} must be 0 or more, not {}", what, name, value);
}

void check_token(std::string_view what, std::string_view name, std::int64_t id) {
  check_within(what, name, id, -1, std::numeric_limits<std::int32_t>::max());
}

void check_token_used(std::string_view what, std::string_view name, std::int64_t id, std::int64_t vocabulary) {
  check(id >= 0 && id < vocabulary, "{}: {} is {}, but the model has {} tokens", what, name, id, vocabulary);
}

// A config alone may describe a model that no memory here holds, for attend info --cost: GPT-3 has 2^37.3 parameters.
// nn::Parameters refuses to allocate more than kMostParameters.
void check_size(std::string_view what, std::int64_t parameters) {
  constexpr std::int64_t kMostDescribed = std::int64_t{1} << 48;
  check(parameters <= kMostDescribed, "{}: a model of {} parameters; a config may describe {} at most", what,
        parameters, kMostDescribed);
}

}  // namespace attend::models
