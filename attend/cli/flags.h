// Flags from a struct's visit() list (attend/base/fields.h): --label-smoothing for label_smoothing. What is given on
// the command line lands in a JSON object under the member's name, to be laid over what a file says.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/fields.h"

namespace attend {

// group is the heading in --help. A name that is a flag already is left alone, and so is a model's vocabulary, which
// its tokenizer decides.
template <class Settings>
void add_field_flags(CLI::App& flags, Settings defaults, Json& given, const std::string& group) {
  defaults.visit([&]<class T>(std::string_view name, T& value, std::string_view help) {
    std::string flag = "--" + std::string(name);
    std::replace(flag.begin() + 2, flag.end(), '_', '-');
    if (name == "vocabulary" || flags.get_option_no_throw(flag)) return;
    const auto store = [&given, key = std::string(name)](const T& parsed) {
      // Floats as they were typed: 0.1, not 0.10000000149.
      if constexpr (std::is_same_v<T, float>)
        given[key] = std::stod(fmt::format("{}", parsed));
      else
        given[key] = parsed;
    };
    CLI::Option* option;
    if constexpr (std::is_same_v<T, bool>)
      option = flags.add_flag_function(
          flag + ",!--no-" + flag.substr(2), [store](std::int64_t count) { store(count > 0); }, std::string(help));
    else
      option = flags.add_option_function<T>(flag, store, std::string(help));
    option->group(group);
    if constexpr (std::is_same_v<T, std::vector<std::string>>)  // --text a --text b
      option->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    else
      option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
      option->default_str(fmt::format("{}", value));
    else if constexpr (std::is_same_v<T, std::string>)
      option->default_str(value);
  });
}

}  // namespace attend
