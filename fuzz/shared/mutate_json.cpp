// JSON stays JSON: values are exchanged, added, taken away, and made extreme.
#include <algorithm>
#include <vector>

#include "attend/base/unicode/unicode.h"
#include "fuzz/shared/mutate.h"

namespace attend::fuzz {

namespace {

// A value, under which key it stands (a list's values under the list's), and in what.
struct Place {
  Json* value;
  Json* parent;
  std::string key;
};

void collect(Json& json, Json* parent, const std::string& key, std::vector<Place>& places) {
  places.push_back({&json, parent, key});
  for (Json* item = json.begin(); item != json.end(); ++item)
    collect(*item, &json, json.is_object() ? json.name_of(item) : key, places);
}

std::vector<Place> places_in(Json& json) {
  std::vector<Place> places;
  collect(json, nullptr, "", places);
  return places;
}

Json extreme(Chance& chance) {
  static const std::vector<Json> values = {nullptr,
                                           true,
                                           false,
                                           0,
                                           1,
                                           2,
                                           -1,
                                           7,
                                           8,
                                           64,
                                           255,
                                           256,
                                           65535,
                                           65536,
                                           INT32_MAX,
                                           INT32_MIN,
                                           INT64_MAX,
                                           INT64_MIN,
                                           UINT64_MAX,
                                           1u << 20,
                                           1e308,
                                           -1e308,
                                           1e-320,
                                           0.5,
                                           -0.0,
                                           "",
                                           "a",
                                           "\xF0\x9F\x98\x80",
                                           std::string(200, 'x'),
                                           Json::array(),
                                           Json::object(),
                                           Json::array({0, 0}),
                                           Json::array({"", 0})};
  return values[chance.below(values.size())];
}

Json nudged(const Json& number, Chance& chance) {
  if (number.is_number_float()) return number.get<double>() * (chance.once_in(2) ? -1 : 1e10);
  const auto value = number.is_number_unsigned() ? number.get<std::uint64_t>()
                                                 : static_cast<std::uint64_t>(number.get<std::int64_t>());
  const std::uint64_t changed[] = {value + 1, value - 1, value * 2, value / 2, ~value + 1, value + 8};
  return static_cast<std::int64_t>(changed[chance.below(std::size(changed))]);
}

Json respelt(const std::string& text, const Schema& schema, Chance& chance) {
  if (const std::string word = schema.word(chance); !word.empty() && chance.once_in(2))
    return chance.once_in(3) ? word
                             : replace_invalid_utf8(std::string(text).insert(chance.below(text.size() + 1), word));
  return replace_invalid_utf8(mutate_bytes(text, chance));
}

void drop(Json& parent, const Json* value) {
  if (parent.is_object()) return parent.erase(std::string(parent.name_of(value)));
  Json rest = Json::array();
  for (const Json& item : parent)
    if (&item != value) rest.push_back(item);
  parent = std::move(rest);
}

// A list gets one of its values once more, an object a key that the schema knows.
void grow(Json& json, const Schema& schema, Chance& chance) {
  if (json.is_array() && !json.empty()) {
    const Json copy = json[chance.below(json.size())];
    return json.push_back(copy);
  }
  const std::string key = schema.key(chance);
  if (key.empty() || (!json.is_object() && !json.is_array())) return;
  const Json* value = schema.value(key, chance);
  if (json.is_object())
    json[key] = *value;
  else
    json.push_back(*value);
}

void rename(Json& object, const Schema& schema, Chance& chance) {
  if (!object.is_object() || object.empty()) return;
  const std::size_t which = chance.below(object.size());
  Json renamed = Json::object();
  std::size_t i = 0;
  for (const auto& [name, value] : object.items()) {
    const std::string known = schema.key(chance);
    const bool changed = i++ == which;
    renamed[!changed                             ? name
            : known.empty() || chance.once_in(2) ? respelt(name, schema, chance).text()
                                                 : known] = value;
  }
  object = std::move(renamed);
}

}  // namespace

void mutate_json(Json& json, const Schema& schema, Chance& chance) {
  std::vector<Place> places = places_in(json);
  Place& place = places[chance.below(places.size())];
  Json& value = *place.value;
  switch (chance.below(10)) {
    case 0:
      value = extreme(chance);
      return;
    case 1:
      if (place.parent) drop(*place.parent, place.value);
      return;
    case 2: {
      const Json copy = *places[chance.below(places.size())].value;
      value = copy;
      return;
    }
    case 3:
      return grow(value, schema, chance);
    case 4:
      return rename(place.parent && !value.is_object() ? *place.parent : value, schema, chance);
    case 5:
    case 6: {  // something that may stand there
      const auto known = [&](const Place& each) { return schema.value(each.key, chance) != nullptr; };
      std::erase_if(places, [&](const Place& each) { return !known(each); });
      if (places.empty()) return grow(json, schema, chance);
      const Place& chosen = places[chance.below(places.size())];
      const Json copy = *schema.value(chosen.key, chance);
      *chosen.value = copy;
      return;
    }
    default:
      if (value.is_string())
        value = respelt(value.text(), schema, chance);
      else if (value.is_number())
        value = nudged(value, chance);
      else if (value.is_boolean())
        value = !value.get<bool>();
      else
        grow(value, schema, chance);
  }
}

void cross_json(Json& json, Json& other, Chance& chance) {
  const std::vector<Place> theirs = places_in(other);
  const Place& from = theirs[chance.below(theirs.size())];
  std::vector<Place> ours = places_in(json);
  std::erase_if(ours, [&](const Place& place) { return place.key != from.key; });
  if (!ours.empty()) *ours[chance.below(ours.size())].value = *from.value;
}

}  // namespace attend::fuzz
