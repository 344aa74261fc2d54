// Flags from a struct's visit() list (attend/base/fields.h): --label-smoothing for label_smoothing. What is given on
// the command line lands in a JSON object under the member's name, to be laid over what a file says.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/fields.h"
#include "attend/base/joined.h"
#include "attend/cli/support/flags.h"

namespace attend::cli {

struct FieldFlags {
  std::string group;          // the heading in --help; "": the flags are not shown
  bool show_defaults = true;  // false where they depend on something else
  std::string value = {};     // the name of a text's value in --help; "": standard_value()
};

template <class T>
void add_field_flag(Flags& flags, std::string_view name, const T& value, std::string_view help, Json& given,
                    const FieldFlags& options) {
  std::string flag = "--" + std::string(name);
  std::replace(flag.begin() + 2, flag.end(), '_', '-');
  for (const char* not_a_flag : {"vocabulary", "data", "command", "then", "compare"})
    if (name == not_a_flag) return;
  if (flags.has(flag)) return;
  const auto parsed = std::make_shared<T>(value);
  if constexpr (std::is_same_v<T, bool>) flag += ",!--no-" + flag.substr(2);
  Flag added = flags.add(flag, *parsed, std::string(help));
  if constexpr (std::is_same_v<T, std::vector<std::string>>) added.one_at_a_time();
  if (!options.show_defaults) added.shown_as("");
  if (!options.value.empty()) added.takes(options.value);
  added.group(options.group).then([&given, key = std::string(name), parsed] {
    // Floats as they were typed: 0.1, not 0.10000000149.
    if constexpr (std::is_same_v<T, float>)
      given[key] = std::stod(fmt::format("{}", *parsed));
    else
      given[key] = *parsed;
  });
}

// A JSON object, as text.
inline void add_field_flag(Flags& flags, std::string_view name, const Json&, std::string_view help, Json& given,
                           const FieldFlags& options) {
  std::string flag = "--" + std::string(name);
  std::replace(flag.begin() + 2, flag.end(), '_', '-');
  if (flags.has(flag)) return;
  const auto text = std::make_shared<std::string>();
  flags.add(flag, *text, std::string(help))
      .shown_as("")
      .group(options.group)
      .then([&given, key = std::string(name), flag, text] { given[key] = parse_json(*text, flag); });
}

// Whole numbers, 64 or 64,64,256.
inline void add_field_flag(Flags& flags, std::string_view name, const std::vector<std::int64_t>& value,
                           std::string_view help, Json& given, const FieldFlags& options) {
  std::string flag = "--" + std::string(name);
  std::replace(flag.begin() + 2, flag.end(), '_', '-');
  if (flags.has(flag)) return;
  const auto text = std::make_shared<std::string>();
  Flag added = flags.add(flag, *text, std::string(help));
  added.shown_as(options.show_defaults ? joined(value, ",") : "");
  added.group(options.group).then([&given, key = std::string(name), flag, text] {
    check(!text->empty() && text->find_first_not_of("-0123456789,") == std::string::npos && text->back() != ',',
          "{} takes a whole number, or several with commas between them, not '{}'", flag, *text);
    const Json numbers = parse_json("[" + *text + "]", flag);
    given[key] = numbers.size() == 1 ? numbers.front() : numbers;
  });
}

// A name that is a flag already is left alone, and so are a model's vocabulary, which its tokenizer decides, and lists
// of settings and what a recipe says to people, which only files have.
template <class Settings>
void add_field_flags(Flags& flags, Settings defaults, Json& given, const FieldFlags& options) {
  defaults.visit([&]<class T>(std::string_view name, T& value, std::string_view help) {
    if constexpr (!fields::ListOfSettings<T>) add_field_flag(flags, name, value, help, given, options);
  });
}

}  // namespace attend::cli
