// A struct of settings lists its members once, in visit(), and is then read from JSON, written to JSON, and offered as
// flags (attend/cli/support/field_flags.h) from that one list. A member may be a list of such structs, which are no
// flags:
//
//   struct Config {
//     std::int64_t width = 512;
//     float dropout = 0.1f;
//     template <class Visitor>
//     void visit(Visitor&& v) {
//       v("width", width, "of the model"), v("dropout", dropout, "how much is dropped while training");
//     }
//   };
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/json.h"

namespace attend {

// The known name most like this one, for "did you mean"; empty when none is close.
std::string nearest_name(std::string_view name, const std::vector<std::string>& known);

// Throws Error for the first key of the object that is none of these; what opens the message.
void check_keys(const Json& json, const std::vector<std::string>& known, std::string_view what);

namespace fields {

template <class T>
concept ListOfSettings = requires(T list) {
  list.front().visit([](auto&&...) {});
};

template <class T>
constexpr const char* kind_of() {
  if constexpr (std::is_same_v<T, bool>)
    return "true or false";
  else if constexpr (std::is_integral_v<T>)
    return std::is_signed_v<T> ? "a whole number" : "a whole number, 0 or more";
  else if constexpr (std::is_floating_point_v<T>)
    return "a number";
  else if constexpr (std::is_same_v<T, std::string>)
    return "a string";
  else if constexpr (std::is_same_v<T, Json>)
    return "an object";
  else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>)
    return "a whole number or a list of them";
  else if constexpr (ListOfSettings<T>)
    return "a list of JSON objects";
  else
    return "a string or a list of strings";
}

template <class T>
bool fits(const Json& json) {
  if constexpr (std::is_same_v<T, bool>)
    return json.is_boolean();
  else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
    return json.is_number_integer() && !(json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX);
  else if constexpr (std::is_integral_v<T>)
    return json.is_number_unsigned() || (json.is_number_integer() && json.get<std::int64_t>() >= 0);
  else if constexpr (std::is_floating_point_v<T>)
    return json.is_number() && std::abs(json.get<double>()) <= static_cast<double>(std::numeric_limits<T>::max());
  else if constexpr (std::is_same_v<T, std::string>)
    return json.is_string();
  else if constexpr (std::is_same_v<T, Json>)
    return json.is_object();
  else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>)
    return fits<std::int64_t>(json) || (json.is_array() && std::all_of(json.begin(), json.end(), fits<std::int64_t>));
  else if constexpr (ListOfSettings<T>)
    return json.is_array() && std::all_of(json.begin(), json.end(), [](const Json& item) { return item.is_object(); });
  else
    return json.is_string() || (json.is_array() && std::all_of(json.begin(), json.end(),
                                                               [](const Json& item) { return item.is_string(); }));
}

}  // namespace fields

// Sets the members the object names; the others keep their values. what (a path) opens every message.
template <class Settings>
void read_fields(Settings& settings, const Json& json, std::string_view what) {
  check(json.is_object(), "{}: expected a JSON object", what);
  std::vector<std::string> known;
  settings.visit([&]<class T>(std::string_view name, T& member, std::string_view) {
    known.emplace_back(name);
    const auto found = json.find(std::string(name));
    if (found == json.end()) return;
    check(fields::fits<T>(*found), "{}: '{}' must be {}, not {}", what, name, fields::kind_of<T>(), found->dump());
    if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      if (found->is_string()) return static_cast<void>(member = {found->template get<std::string>()});
    }
    if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
      if (!found->is_array()) return static_cast<void>(member = {found->template get<std::int64_t>()});
    }
    if constexpr (std::is_same_v<T, Json>) {
      member = *found;
    } else if constexpr (fields::ListOfSettings<T>) {
      member.clear();
      for (const Json& item : *found) {
        member.emplace_back();
        read_fields(member.back(), item, fmt::format("{}: {}[{}]", what, name, member.size() - 1));
      }
    } else {
      member = found->template get<T>();
    }
  });
  check_keys(json, known, what);
}

// The names of all members.
template <class Settings>
std::vector<std::string> field_names(Settings settings) {
  std::vector<std::string> names;
  settings.visit([&](std::string_view name, auto&&...) { names.emplace_back(name); });
  return names;
}

template <class Settings>
Json write_fields(Settings settings) {
  Json json = Json::object();
  settings.visit([&]<class T>(std::string_view name, T& member, std::string_view) {
    // The shortest decimal that reads back as the same float: 0.1, not 0.10000000149.
    if constexpr (std::is_same_v<T, float>)
      json[std::string(name)] = std::stod(fmt::format("{}", member));
    else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>)
      json[std::string(name)] = member.size() == 1 ? Json(member.front()) : Json(member);
    else if constexpr (fields::ListOfSettings<T>) {
      Json list = Json::array();
      for (const auto& item : member) list.push_back(write_fields(item));
      json[std::string(name)] = std::move(list);
    } else
      json[std::string(name)] = member;
  });
  return json;
}

}  // namespace attend
