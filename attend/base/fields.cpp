#include "attend/base/fields.h"

#include <algorithm>
#include <numeric>

namespace attend {

namespace {

// How many letters must be put in, taken out or replaced to make one of the other (Levenshtein 1966).
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_name(std::string_view name, const std::vector<std::string>& known) {
  constexpr std::size_t kLongest = 64;
  std::string best;
  const std::size_t letters = name.size() - std::min(name.size(), name.find_first_not_of('-'));
  std::size_t fewest = std::max<std::size_t>(1, (letters + 1) / 3) + 1;
  for (const std::string& candidate : known) {
    const std::size_t count = edits(name.substr(0, kLongest), candidate);
    if (count < fewest) fewest = count, best = candidate;
  }
  return best;
}

void check_keys(const Json& json, const std::vector<std::string>& known, std::string_view what) {
  for (const auto& item : json.items()) {
    if (std::ranges::find(known, item.key()) != known.end()) continue;
    const std::string nearest = nearest_name(item.key(), known);
    fail("{}: unknown key '{}'{}", what, item.key(), nearest.empty() ? "" : "; did you mean '" + nearest + "'?");
  }
}

}  // namespace attend
