#include "attend/base/old_names.h"

#include <algorithm>
#include <array>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/json.h"

namespace attend {

namespace {

struct OldName {
  std::string_view old, current;
};
constexpr std::array<OldName, 5> kOldNames{{
    {"picture", "image"},
    {"pictures", "images"},
    {"score_pictures", "score_images"},
    {"max_picture", "max_image"},
    {"judge", "feature_model"},
}};

}  // namespace

std::string with_current_name(const std::string& word) {
  if (!word.starts_with("--")) return word;
  const std::size_t end = std::min(word.find('='), word.size());
  std::string key = word.substr(2, end - 2);
  std::ranges::replace(key, '-', '_');
  for (const OldName& name : kOldNames)
    if (key == name.old) {
      std::string flag(name.current);
      std::ranges::replace(flag, '_', '-');
      return "--" + flag + word.substr(end);
    }
  return word;
}

Json with_current_names(Json settings, std::string_view what) {
  if (!settings.is_object()) return settings;
  for (const auto& [old, current] : kOldNames) {
    const auto found = settings.find(old);
    if (found == settings.end()) continue;
    check(!settings.contains(current), "{}: '{}' is the old name of '{}'; give one of them", what, old, current);
    Json value = *found;
    settings.erase(old);
    settings[current] = std::move(value);
  }
  return settings;
}

}  // namespace attend
