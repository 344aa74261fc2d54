#include "attend/train/recipes/held_out.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/lines.h"
#include "attend/base/unicode/unicode.h"
#include "attend/data/facts/text_examples.h"
#include "attend/data/permutation.h"
#include "attend/text/text_reader.h"

namespace attend::train {

namespace {

constexpr const char* kFiles[] = {"train.source.txt", "train.target.txt", "valid.source.txt", "valid.target.txt"};

data::Recognised recognised(const PairSplit& split) {
  if (split.pairs.empty()) return data::recognise({split.source, split.target});
  data::Recognised found = data::recognise({split.pairs});
  const bool named = !split.first_column.empty() && !split.second_column.empty();
  check(named || found.kind == data::DataKind::text_pairs,
        "{}: expected two columns of texts that translate each other, found {}; --source-column and --target-column "
        "name them",
        split.pairs, found.what);
  found.kind = data::DataKind::text_pairs;
  if (!split.first_column.empty()) found.first = split.first_column;
  if (!split.second_column.empty()) found.second = split.second_column;
  return found;
}

// A line of a text file holds no line ends.
void append_line(std::string& text, std::string line) {
  std::ranges::replace(line, '\n', ' '), std::ranges::replace(line, '\r', ' ');
  text += line + '\n';
}

}  // namespace

void HeldOutSettings::check(std::string_view what) const {
  attend::check(valid_share >= 0 && valid_share < 1, "{}: 'valid_share' must be at least 0 and below 1, not {}", what,
                valid_share);
}

std::vector<bool> held_out(const std::vector<std::string_view>& texts, double share, std::uint64_t seed) {
  const std::size_t count = texts.size();
  std::vector<bool> held(count, false);
  auto wanted = static_cast<std::size_t>(std::llround(share * static_cast<double>(count)));
  if (share > 0) wanted = std::max<std::size_t>(wanted, 1);
  check(wanted < count || wanted == 0, "holding out {} of {} examples leaves none to learn from", wanted, count);
  std::unordered_map<std::string_view, std::size_t> times;
  for (std::string_view text : texts) ++times[text];
  const data::Permutation order(std::max<std::uint64_t>(count, 1), seed);
  for (const bool once : {true, false})
    for (std::size_t place = 0; place < count && wanted > 0; ++place) {
      const auto i = static_cast<std::size_t>(order(place));
      if (held[i] || (times[texts[i]] == 1) != once) continue;
      held[i] = true, --wanted;
    }
  return held;
}

PairFiles split_pairs(const PairSplit& split, RunFolder& folder) {
  const auto path = [&](int i) { return (folder.prepared() / kFiles[i]).string(); };
  const PairFiles files{path(0), path(1), path(2), path(3)};
  if (folder.resumed()) return files;
  const data::TextExamples read = data::read_text_examples(recognised(split));
  std::vector<std::string_view> sources;
  for (const data::TextExample& one : read.examples) sources.push_back(one.first);
  const std::vector<bool> held = held_out(sources, split.share, split.seed);
  std::string texts[4];
  for (std::size_t i = 0; i < read.examples.size(); ++i) {
    append_line(texts[held[i] ? 2 : 0], read.examples[i].first);
    append_line(texts[held[i] ? 3 : 1], read.examples[i].second);
  }
  for (int i = 0; i < 4; ++i) folder.stage(kFiles[i], texts[i]);
  return files;
}

TextSplit split_text(const std::vector<std::string>& text, double share, RunFolder& folder) {
  const std::string train = "train.txt", valid = "valid.txt";
  const TextSplit split{{(folder.prepared() / train).string()}, {(folder.prepared() / valid).string()}};
  if (folder.resumed()) return split;
  std::string all;
  for (const std::string& path : text) {
    text::TextReader reader(path);
    for (std::string_view block = reader.next_block(); !block.empty(); block = reader.next_block()) {
      check(!find_invalid_utf8(block), "'{}' is not UTF-8 text; attend data report {} lists the lines", path, path);
      all += block;
    }
    if (!all.empty() && all.back() != '\n') all += '\n';
  }
  const auto wanted = static_cast<std::size_t>((1 - share) * static_cast<double>(all.size()));
  const std::size_t end = all.rfind('\n', wanted);
  const std::size_t cut = end == std::string::npos ? wanted : end + 1;
  check(cut > 0 && cut < all.size(), "holding out {} of the text leaves nothing on one side", share);
  folder.stage(train, std::string_view(all).substr(0, cut));
  folder.stage(valid, std::string_view(all).substr(cut));
  return split;
}

}  // namespace attend::train
