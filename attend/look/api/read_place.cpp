#include "attend/look/api/read_place.h"

#include "attend/base/error.h"
#include "attend/http/json_request.h"

namespace attend::look {

AttentionPlace read_place(const Json& object, const AttentionPlace& otherwise) {
  return {http::word(object, "stack", otherwise.stack.c_str()), http::word(object, "kind", otherwise.kind.c_str()),
          http::whole(object, "layer", 0)};
}

Ablation read_ablation(const Json& object, const AttentionPlace& otherwise) {
  Ablation result;
  for (const Json& head : http::items(object, "heads")) {
    const Json* scale = http::field(head, "scale");
    check(!scale || scale->is_number(), "'scale' must be a number");
    result.heads.push_back(
        {read_place(head, otherwise), http::whole(head, "head", 0), scale ? scale->get<float>() : 0.0f});
  }
  for (const Json& layer : http::items(object, "layers"))
    result.layers.push_back({http::word(layer, "stack", "encoder"), http::whole(layer, "layer", 0)});
  for (const std::int32_t token : http::ids(http::items(object, "masked"), "masked")) result.masked.push_back(token);
  if (const Json* positions = http::field(object, "positions")) {
    check(positions->is_boolean(), "'positions' must be true or false");
    result.positions = positions->get<bool>();
  }
  if (const Json* scaling = http::field(object, "scaling")) {
    check(scaling->is_boolean(), "'scaling' must be true or false");
    result.scaling = scaling->get<bool>();
  }
  constexpr std::int64_t kWidest = 1 << 20;
  result.window = http::whole(object, "window", -1);
  check(result.window >= -1 && result.window <= kWidest, "'window' must be -1 to {}, not {}", kWidest, result.window);
  return result;
}

}  // namespace attend::look
