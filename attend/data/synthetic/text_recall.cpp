// Something to remember, and much that is not: "kqb0001 0002 0003 ..=kqb". The last three letters are the first three
// again, each exactly `distance` places behind itself; what lies between follows from the few characters in front of
// it. So a model that looks back less far than the distance can know everything but the last letters.
#include <fmt/core.h>

#include "attend/base/error.h"
#include "attend/data/synthetic/text_makers.h"

namespace attend::data {

namespace {

constexpr int kLetters = 26, kRemembered = 3;

}  // namespace

TextPair make_recall(TextRandom& random, std::int64_t distance) {
  check(distance >= kLeastRecallDistance && distance <= kMostRecallDistance,
        "make-data: recall's letters come again {} to {} places later, not {}", kLeastRecallDistance,
        kMostRecallDistance, distance);
  TextPair pair;
  for (int i = 0; i < kRemembered; ++i) pair.target += static_cast<char>('a' + random.below(kLetters));
  pair.source = pair.target;
  const auto filled = static_cast<std::size_t>(distance - 1);
  for (int count = 1; pair.source.size() < filled; ++count) pair.source += fmt::format("{:04} ", count);
  pair.source.resize(filled);
  pair.source += "=";
  return pair;
}

}  // namespace attend::data
