#include "attend/world/agreement.h"

#include <fmt/core.h>

#include <vector>

#include "attend/base/error.h"

namespace attend::world {

std::string first_difference(const RankSettings& one, const RankSettings& other) {
  const auto value_of = [](const Json& settings, const std::string& key) {
    const auto found = settings.find(key);
    return found == settings.end() ? std::string("null") : found->dump();
  };
  for (const Json* keys : {&one.settings, &other.settings})
    for (const auto& item : keys->items()) {
      const std::string a = value_of(one.settings, item.key()), b = value_of(other.settings, item.key());
      if (a != b) return fmt::format("{} is {} for {}, but {} for {}", item.key(), a, one.by, b, other.by);
    }
  return "";
}

void check_agreement(World& world, const Json& settings) {
  if (world.size() == 1) return;
  const std::vector<std::string> all = world.all_gather(settings.dump());
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    const std::string who = fmt::format("rank {}", rank);
    const Json first = parse_json(all[0], "rank 0"), told = parse_json(all[rank], who);
    const std::string difference = first_difference({told, who}, {first, "rank 0"});
    check(difference.empty(), "{}: all processes need the same settings and the same files", difference);
  }
}

}  // namespace attend::world
