#include "attend/data/corpus/check_pairs.h"

#include <cstdint>
#include <string_view>

#include "attend/base/error.h"
#include "attend/base/progress.h"
#include "attend/base/unicode/unicode.h"

namespace attend::data {

namespace {

constexpr std::int64_t kMostInvalid = 20;  // one line in so many; Latin-1 has one in two of French

struct InvalidLines {
  std::int64_t first = 0, count = 0;

  void see(std::string_view line, std::int64_t number) {
    if (!find_invalid_utf8(line)) return;
    if (count == 0) first = number;
    ++count;
  }
  void check(const std::filesystem::path& file, std::int64_t lines) const {
    attend::check(count * kMostInvalid <= lines,
                  "'{}' is not UTF-8 text: {} of its {} lines, the first is line {}; convert it, for instance with "
                  "iconv -f ISO-8859-1 -t UTF-8",
                  file.string(), with_commas(count), with_commas(lines), with_commas(first));
  }
};

}  // namespace

void check_pairs(const PairFiles& files) {
  PairReader reader(files);
  InvalidLines source, target;
  for (PairView pair; reader.next(pair);)
    source.see(pair.source, reader.count()), target.see(pair.target, reader.count());
  source.check(files.source, reader.count());
  target.check(files.target, reader.count());
}

}  // namespace attend::data
