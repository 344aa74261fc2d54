#include "attend/look/api/drawing_api.h"

#include <utility>

#include "attend/base/error.h"
#include "attend/http/json_request.h"
#include "attend/look/inspect/image_json.h"

namespace attend::look {

namespace {

constexpr std::int64_t kMostColumns = 16, kMostFrames = 48;

std::uint64_t counted(const Json& request, const char* name, std::int64_t otherwise) {
  const std::int64_t value = http::whole(request, name, otherwise);
  check(value >= 0, "'{}' cannot be {}", name, value);
  return static_cast<std::uint64_t>(value);
}

std::int64_t at_most(const Json& request, const char* name, std::int64_t otherwise, std::int64_t most) {
  const std::int64_t value = http::whole(request, name, otherwise);
  check(value >= 1 && value <= most, "'{}' must be from 1 to {}, not {}", name, most, value);
  return value;
}

Json addresses(const std::vector<image::Image>& drawn) {
  Json list = Json::array();
  for (const image::Image& one : drawn) list.push_back(image_address(one));
  return list;
}

}  // namespace

DrawingApi::DrawingApi(const DrawingInspector& inspector, Beside beside)
    : inspector_(inspector), beside_(std::move(beside)) {
  check(!beside_.inspector || beside_.inspector->config().labels == inspector.config().labels,
        "look: the two models draw other classes, or in another order");
}

Json DrawingApi::model() const {
  Json attention = Json::array();
  for (std::size_t i = 0; i < inspector_.places().size(); ++i)
    attention.push_back(place_json(inspector_.places()[i], static_cast<std::int64_t>(i)));
  const std::int64_t side = inspector_.config().image_size();
  return {{"kind", "drawing"},
          {"config", models::sagan_json(inspector_.config())},
          {"parameters", inspector_.parameters()},
          {"classes", inspector_.config().labels},
          {"size", {side, side}},
          {"layers", false},
          {"attention", std::move(attention)},
          {"beside", beside_.inspector ? beside_.name : ""}};
}

Json DrawingApi::inspect(const Json& request) const {
  const bool other = http::whole(request, "beside", 0) != 0;
  check(!other || beside_.inspector, "there is no second model here");
  const DrawingInspector& inspector = other ? *beside_.inspector : inspector_;
  const std::string what = http::word(request, "what", "one");
  const DrawingInspector::Place from{.of_class = http::whole(request, "class", 0),
                                     .seed = counted(request, "seed", 1),
                                     .row = counted(request, "row", 0)};
  if (what == "grid") {
    Json rows = Json::array();
    for (const std::vector<image::Image>& row : inspector.grid(from.seed, at_most(request, "columns", 6, kMostColumns)))
      rows.push_back(addresses(row));
    return {{"drawings", std::move(rows)}};
  }
  if (what == "walk") {
    const DrawingInspector::Place to{.of_class = http::whole(request, "to_class", from.of_class),
                                     .seed = counted(request, "to_seed", 1),
                                     .row = counted(request, "to_row", 0)};
    return {{"drawings", addresses(inspector.walk(from, to, at_most(request, "frames", 17, kMostFrames)))}};
  }
  check(what == "one", "'what' must be grid, one or walk, not '{}'", what);
  const DrawingInspection seen = inspector.inspect(from);
  Json attention = Json::array();
  for (std::size_t i = 0; i < seen.attention.size(); ++i)
    attention.push_back(attention_json(seen.attention[i], static_cast<std::int64_t>(i)));
  return {{"seen", image_address(seen.drawn)},
          {"text", inspector.config().labels[static_cast<std::size_t>(from.of_class)]},
          {"attention", std::move(attention)}};
}

}  // namespace attend::look
