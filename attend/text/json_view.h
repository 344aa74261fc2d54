// A value of a parsed JSON file that knows where it stands, so that every complaint names the file and the key:
//   tokenizer.json: model.vocab is missing
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "attend/base/error.h"
#include "attend/base/json.h"

namespace attend::text {

class JsonView {
 public:
  // what is the file's name; path is empty for the whole of it.
  JsonView(const Json& value, std::string what, std::string path = {})
      : value_(&value), what_(std::move(what)), path_(std::move(path)) {}

  const Json& value() const { return *value_; }
  bool is_null() const { return value_->is_null(); }
  bool is_string() const { return value_->is_string(); }
  bool is_array() const { return value_->is_array(); }

  template <class... Args>
  [[noreturn]] void complain(fmt::format_string<Args...> format, Args&&... args) const {
    throw Error(what_ + ": " + (path_.empty() ? "" : path_ + " ") + fmt::format(format, std::forward<Args>(args)...));
  }

  // The member under key; null counts as missing.
  std::optional<JsonView> find(const std::string& key) const {
    if (!value_->is_object()) complain("must be an object");
    const auto found = value_->find(key);
    if (found == value_->end() || found->is_null()) return std::nullopt;
    return JsonView(*found, what_, path_.empty() ? key : path_ + "." + key);
  }
  JsonView operator[](const std::string& key) const {
    auto found = find(key);
    if (!found) throw Error(what_ + ": " + (path_.empty() ? key : path_ + "." + key) + " is missing");
    return *std::move(found);
  }

  const std::string& text() const {
    if (!value_->is_string()) complain("must be a string");
    return value_->text();
  }
  bool boolean() const {
    if (!value_->is_boolean()) complain("must be true or false");
    return value_->get<bool>();
  }
  std::int64_t integer(std::int64_t least, std::int64_t most) const {
    if (!value_->is_number_integer()) complain("must be a whole number");
    const bool huge = value_->is_number_unsigned() && value_->get<std::uint64_t>() > INT64_MAX;
    const std::int64_t number = huge ? INT64_MAX : value_->get<std::int64_t>();
    if (huge || number < least || number > most) complain("must be from {} to {}", least, most);
    return number;
  }
  std::vector<JsonView> items() const {
    if (!value_->is_array()) complain("must be a list");
    std::vector<JsonView> items;
    items.reserve(value_->size());
    for (std::size_t i = 0; i < value_->size(); ++i)
      items.emplace_back((*value_)[i], what_, fmt::format("{}[{}]", path_, i));
    return items;
  }

  // Members with a default, as most options are.
  bool boolean(const std::string& key, bool otherwise) const {
    const auto found = find(key);
    return found ? found->boolean() : otherwise;
  }
  std::string text(const std::string& key, std::string_view otherwise) const {
    const auto found = find(key);
    return found ? found->text() : std::string(otherwise);
  }

 private:
  const Json* value_;
  std::string what_, path_;
};

inline constexpr std::int64_t kLargestTokenId = 0x7ffffffe;

}  // namespace attend::text
