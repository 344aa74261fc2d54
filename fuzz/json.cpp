// Any bytes as JSON: what is taken comes back from its own text, on one line and on several.
#include "attend/base/json.h"

#include "fuzz/shared/target.h"

namespace attend::fuzz {

const Target kTarget = {.file = "input.json"};

namespace {

// Asks every value for every kind of thing.
void look_through(const Json& json, Json& copy) {
  attempt([&] { json.get<bool>(); });
  attempt([&] { json.get<std::int8_t>(); });
  attempt([&] { json.get<std::int64_t>(); });
  attempt([&] { json.get<std::uint8_t>(); });
  attempt([&] { json.get<std::uint64_t>(); });
  attempt([&] { json.get<double>(); });
  attempt([&] { json.get<std::string>(); });
  attempt([&] { json.get<std::vector<std::int32_t>>(); });
  attempt([&] { static_cast<void>(json[json.size()]); });
  attempt([&] { json.at("no such member"); });
  attempt([&] { copy.erase("no such member"); });
  attempt([&] { copy.push_back(1); });
  attempt([&] { copy.update(json); });
  attempt([&] { json.items(); });
  shown(json.is_string() ? json.text() : json.dump());
  for (const Json* item = json.begin(); item != json.end(); ++item) {
    if (json.is_object()) {
      must(json.contains(json.name_of(item)) && &json.at(json.name_of(item)) == item, "a member is found by its name");
      copy.erase(json.name_of(item));
      must(!copy.contains(json.name_of(item)), "a member that was erased is gone");
      copy[json.name_of(item)] = *item;
    }
    Json inner = *item;
    look_through(*item, inner);
  }
}

}  // namespace

void enter(const Input& input) {
  const std::string& text = input.first().bytes;
  const Json json = parse_json(text, "input");
  must(Json::accept(text), "what was parsed is accepted");
  must(parse_json(json.dump(), "written") == json, "JSON is what its text says");
  must(parse_json(json.dump(2), "written") == json, "JSON is what its text on several lines says");
  Json copy = json;
  look_through(json, copy);
  attempt([&] { parse_json(text, "input", {.depth = 2}); });
}

}  // namespace attend::fuzz
