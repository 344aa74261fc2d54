#include "attend/serve/request.h"

#include "attend/base/error.h"

namespace attend::serve {

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

tasks::AttentionPlace read_place(const Json& object, const tasks::AttentionPlace& otherwise) {
  return {word(object, "stack", otherwise.stack.c_str()), word(object, "kind", otherwise.kind.c_str()),
          whole(object, "layer", 0)};
}

tasks::Ablation read_ablation(const Json& object, const tasks::AttentionPlace& otherwise) {
  tasks::Ablation result;
  for (const Json& head : items(object, "heads")) {
    const Json* scale = field(head, "scale");
    check(!scale || scale->is_number(), "'scale' must be a number");
    result.heads.push_back({read_place(head, otherwise), whole(head, "head", 0), scale ? scale->get<float>() : 0.0f});
  }
  for (const Json& layer : items(object, "layers"))
    result.layers.push_back({word(layer, "stack", "encoder"), whole(layer, "layer", 0)});
  for (const std::int32_t token : ids(items(object, "masked"), "masked")) result.masked.push_back(token);
  if (const Json* positions = field(object, "positions")) {
    check(positions->is_boolean(), "'positions' must be true or false");
    result.positions = positions->get<bool>();
  }
  constexpr std::int64_t kWidest = 1 << 20;
  result.window = whole(object, "window", -1);
  check(result.window >= -1 && result.window <= kWidest, "'window' must be -1 to {}, not {}", kWidest, result.window);
  return result;
}

}  // namespace attend::serve
