#include "attend/http/json_request.h"

#include "attend/base/error.h"

namespace attend::http {

namespace {
constexpr std::size_t kMostItems = 1024;  // of a list: patches that are hidden, heads that are off
}

const Json* field(const Json& object, const char* name) {
  check(object.is_object(), "the request must be an object");
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::int64_t whole(const Json& object, const char* name, std::int64_t otherwise) {
  const Json* value = field(object, name);
  if (!value) return otherwise;
  check(value->is_number_integer() && value->get<double>() > -1e9 && value->get<double>() < 1e9,
        "'{}' must be a whole number", name);
  return value->get<std::int64_t>();
}

double real(const Json& object, const char* name, double otherwise) {
  const Json* value = field(object, name);
  if (!value) return otherwise;
  check(value->is_number(), "'{}' must be a number", name);
  return value->get<double>();
}

bool flag(const Json& object, const char* name, bool otherwise) {
  const Json* value = field(object, name);
  if (!value) return otherwise;
  check(value->is_boolean(), "'{}' must be true or false", name);
  return value->get<bool>();
}

std::string word(const Json& object, const char* name, const char* otherwise) {
  const Json* value = field(object, name);
  if (!value) return otherwise;
  check(value->is_string(), "'{}' must be a string", name);
  return value->get<std::string>();
}

std::vector<std::int32_t> ids(const Json& list, const char* name) {
  check(list.is_array() && list.size() <= 4096, "'{}' must be a list of ids", name);
  std::vector<std::int32_t> result;
  for (const Json& value : list) {
    check(value.is_number_integer() && value.get<double>() >= 0 && value.get<double>() < 1e9,
          "'{}' must be a list of ids", name);
    result.push_back(value.get<std::int32_t>());
  }
  return result;
}

const Json& items(const Json& object, const char* name) {
  static const Json kNone = Json::array();
  const Json* value = field(object, name);
  if (!value) return kNone;
  check(value->is_array() && value->size() <= kMostItems, "'{}' must be a list", name);
  return *value;
}

}  // namespace attend::http
