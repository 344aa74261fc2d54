#include "attend/tasks/search_defaults.h"

#include "attend/base/error.h"
#include "attend/base/fields.h"
#include "attend/base/json.h"
#include "attend/base/limits.h"
#include "attend/base/paths.h"

namespace attend::tasks {

namespace {

// A setting of one of the two files, the newer first.
struct Settings {
  const Json& generation;
  const Json& config;
  std::string folder;

  const Json* find(const char* key) const {
    for (const Json* json : {&generation, &config}) {
      const auto found = json->is_object() ? json->find(key) : json->end();
      if (json->is_object() && found != json->end() && !found->is_null()) return found;
    }
    return nullptr;
  }
  std::int64_t whole(const char* key, std::int64_t least, std::int64_t most, std::int64_t otherwise) const {
    const Json* found = find(key);
    if (!found) return otherwise;
    check(
        fields::fits<std::int64_t>(*found) && found->get<std::int64_t>() >= least && found->get<std::int64_t>() <= most,
        "{}: '{}' of generation_config.json or config.json is {}, but must be {} to {}", folder, key, found->dump(),
        least, most);
    return found->get<std::int64_t>();
  }
};

}  // namespace

SearchDefaults search_defaults(const std::filesystem::path& folder, const Json& config, std::int64_t vocabulary) {
  const std::filesystem::path file = folder / "generation_config.json";
  const Json generation = path_exists(file) ? read_json(file) : Json::object();
  const Settings settings{generation, config, folder.string()};
  SearchDefaults defaults{.beams = settings.whole("num_beams", 1, limits::kMostBeams, 4),
                          .penalty = decode::LengthPenalty::power,
                          .alpha = 1,
                          .max_length = settings.whole("max_length", 0, limits::kMostPositions, 0)};
  if (const Json* penalty = settings.find("length_penalty")) {
    check(penalty->is_number() && penalty->get<float>() >= -10 && penalty->get<float>() <= 10,
          "{}: 'length_penalty' is {}, but must be -10 to 10", settings.folder, penalty->dump());
    defaults.alpha = penalty->get<float>();
  }
  const Json* words = settings.find("bad_words_ids");
  if (!words || !words->is_array()) return defaults;
  for (const Json& word : *words) {
    if (!word.is_array() || word.size() != 1 || !fields::fits<std::int64_t>(word[0])) continue;
    const auto id = word[0].get<std::int64_t>();
    if (id >= 0 && id < vocabulary) defaults.never.push_back(static_cast<std::int32_t>(id));
  }
  return defaults;
}

}  // namespace attend::tasks
