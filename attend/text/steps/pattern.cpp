#include "attend/text/steps/pattern.h"

#include <algorithm>

#include "attend/base/error.h"
#include "attend/base/limits.h"
#include "attend/base/unicode/unicode.h"
#include "attend/text/json_view.h"

namespace attend::text {

bool Pattern::Set::has(char32_t c) const {
  const auto among = [this](char32_t which) {
    return std::ranges::any_of(items, [&](const Item& item) {
      if (item.property == 0) return which >= item.first && which <= item.last;
      return has_property(which, item.property) != item.negated;
    });
  };
  bool found = among(c);
  if (folds_case && !found) {
    found = among(lower_character(c)) || (c >= 'a' && c <= 'z' && among(c - 'a' + 'A')) ||
            (c == 0x17F && (among('s') || among('S')));  // the long s
  }
  return found != negated;
}

Pattern::Pattern(std::string_view regex) { compile_pattern(regex, sets_, steps_); }

Pattern read_pattern(const JsonView& json) {
  const std::string& regex = json.text();
  try {
    return Pattern(regex);
  } catch (const Error& error) {
    json.complain("is not usable: {}", error.what());
  }
}

struct Pattern::Search {
  std::string_view text;
  std::uint64_t& steps;  // left
};

namespace {

[[noreturn]] void fail_slow() {
  fail(
      "encode: the tokenizer's pattern takes too long on this text: more than {} steps a byte (kPatternStepsPerByte "
      "in attend/base/limits.h)",
      limits::kPatternStepsPerByte);
}

}  // namespace

// Where the match ends that begins at `at`, if there is one.
std::optional<std::size_t> Pattern::run(Search& search, std::uint32_t step, std::size_t at) const {
  struct State {
    std::uint32_t step;
    std::size_t at;
  };
  std::vector<State> later;  // what to try when this way leads nowhere
  while (true) {
    const Step now = steps_[step];
    const std::uint64_t cost = now.op == Op::one ? sets_[now.x].cost : 1;
    if (search.steps < cost) fail_slow();
    search.steps -= cost;
    bool fits = true;
    switch (now.op) {
      case Op::match:
        return at;
      case Op::one:
        fits = at < search.text.size() && sets_[now.x].has(next_character(search.text, at));
        ++step;
        break;
      case Op::jump:
        step = now.x;
        break;
      case Op::split:
        check(later.size() < limits::kMostWays,
              "encode: the tokenizer's pattern has more than {} ways to match (kMostWays in attend/base/limits.h)",
              limits::kMostWays);
        later.push_back({now.y, at});
        step = now.x;
        break;
      case Op::start:
        fits = at == 0;
        ++step;
        break;
      case Op::end:
        fits = at == search.text.size();
        ++step;
        break;
      case Op::ahead:
      case Op::not_ahead:
        fits = run(search, step + 1, at).has_value() == (now.op == Op::ahead);
        step = now.x;
        break;
      case Op::atomic: {
        const auto end = run(search, step + 1, at);
        fits = end.has_value();
        at = end.value_or(at);
        step = now.x;
        break;
      }
    }
    if (fits) continue;
    if (later.empty()) return std::nullopt;
    step = later.back().step;
    at = later.back().at;
    later.pop_back();
  }
}

std::vector<Pattern::Found> Pattern::find_all(std::string_view text, std::uint64_t& steps) const {
  std::vector<Found> all;
  Search search = {text, steps};
  for (std::size_t at = 0; at < text.size();) {
    const auto end = run(search, 0, at);
    if (end && *end > at) {
      all.push_back({at, *end});
      at = *end;
    } else {
      next_character(text, at);
    }
  }
  return all;
}

}  // namespace attend::text
