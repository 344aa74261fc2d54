#include "attend/data/facts/facts.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "attend/base/error.h"
#include "attend/base/unicode/unicode.h"
#include "attend/data/facts/places.h"
#include "attend/data/facts/text_examples.h"
#include "attend/data/text/labelled_text.h"

namespace attend::data {

namespace {

std::string excerpt(std::string_view text) {
  constexpr std::size_t kMost = 60;
  if (text.size() <= kMost) return replace_invalid_utf8(text);
  std::size_t end = kMost;
  while (end > 0 && (text[end] & 0xC0) == 0x80) --end;
  return replace_invalid_utf8(text.substr(0, end)) + "..";
}

std::string place_of(const TextExample& one) { return fmt::format("line {}: {}", one.line, excerpt(one.first)); }

void find_invalid(const TextExamples& read, std::vector<Finding>& findings) {
  Places invalid;
  for (const TextExample& one : read.examples)
    if (find_invalid_utf8(one.first) || find_invalid_utf8(one.second)) invalid.add(place_of(one));
  invalid.report(findings, "lines that are not UTF-8: {}");
}

void find_in_sides(const TextExamples& read, std::vector<Finding>& findings) {
  Places empty, same, uneven;
  for (const TextExample& one : read.examples) {
    const double a = static_cast<double>(count_characters(one.first)) + 1;
    const double b = static_cast<double>(count_characters(one.second)) + 1;
    constexpr double kUneven = 5, kShort = 20;  // of short lines any ratio is usual
    if (find_invalid_utf8(one.first) || find_invalid_utf8(one.second)) continue;
    if (one.first.empty() || one.second.empty())
      empty.add(fmt::format("line {}", one.line));
    else if (one.first == one.second)
      same.add(place_of(one));
    else if (std::max(a, b) > kShort && std::max(a, b) > kUneven * std::min(a, b))
      uneven.add(place_of(one));
  }
  empty.report(findings, "pairs with an empty side: {}");
  same.report(findings, "pairs with the same text on both sides: {}");
  uneven.report(findings, "pairs with one side more than five times as long as the other: {}");
}

// Rows that come twice, and the same text with two answers.
void find_repeats(const TextExamples& read, bool pairs, std::vector<Finding>& findings) {
  std::unordered_map<std::string, const TextExample*> seen;
  Places twice, contradicted;
  for (const TextExample& one : read.examples) {
    if (one.first.empty()) continue;
    const std::string key = pairs ? one.first : one.first + '\n' + one.second;
    const auto [found, added] = seen.emplace(key, &one);
    if (added) continue;
    const TextExample& before = *found->second;
    const std::string &was = pairs ? before.second : before.label, &is = pairs ? one.second : one.label;
    if (was == is)
      twice.add(fmt::format("lines {} and {}: {}", before.line, one.line, excerpt(one.first)));
    else
      contradicted.add(fmt::format("lines {} and {}: {} is '{}' and '{}'", before.line, one.line, excerpt(one.first),
                                   excerpt(was), excerpt(is)));
  }
  twice.report(findings, pairs ? "duplicate pairs: {}" : "duplicate rows: {}");
  contradicted.report(findings, pairs ? "texts with two different translations: {}"
                                      : "suspicious labels, texts with two different labels: {}");
}

void count_classes(const TextExamples& read, DataFacts& facts) {
  std::map<std::string, std::int64_t> counts;
  for (const TextExample& one : read.examples) ++counts[one.label];
  facts.classes.assign(counts.begin(), counts.end());
}

void add_text_facts(DataFacts& facts) {
  const Recognised& data = facts.data;
  const TextExamples read = read_text_examples(data);
  const bool pairs = data.kind == DataKind::parallel_text || data.kind == DataKind::text_pairs;
  const bool labelled = data.kind == DataKind::labelled_text;
  facts.noun = pairs ? "pairs" : labelled ? "texts" : "lines";
  facts.examples = static_cast<std::int64_t>(read.examples.size());
  std::vector<std::string_view> first, second;
  for (const TextExample& one : read.examples) first.push_back(one.first), second.push_back(one.second);
  facts.texts.push_back(facts_of_lines(first));
  facts.texts[0].name = data.first.empty() ? data.paths[0].filename().string() : data.first;
  if (pairs || !data.second.empty()) {
    facts.texts.push_back(facts_of_lines(second));
    facts.texts[1].name = data.second.empty() ? data.paths[1].filename().string() : data.second;
  }
  if (!read.left_out.empty()) facts.findings.push_back({read.left_out});
  find_invalid(read, facts.findings);
  if (pairs) find_in_sides(read, facts.findings);
  if (pairs || labelled) find_repeats(read, pairs, facts.findings);
  if (labelled) count_classes(read, facts);
  for (std::size_t i = 0; i < read.examples.size() && facts.samples.size() < kSamples; ++i) {
    const TextExample& one = read.examples[i];
    if (one.first.empty()) continue;
    facts.samples.push_back(
        {one.second.empty() || pairs ? one.first : one.first + " | " + one.second, pairs ? one.second : one.label});
  }
}

// CoNLL and SQuAD.
void add_marked_facts(DataFacts& facts) {
  const bool words = facts.data.kind == DataKind::tagged_words;
  const LabelledFile file =
      read_labelled(facts.data.paths[0].string(),
                    {.labelling = words ? Labelling::words : Labelling::answers, .format = words ? "conll" : "squad"});
  facts.noun = words ? "sentences" : "questions";
  facts.examples = static_cast<std::int64_t>(file.texts.size());
  std::vector<std::string> texts;
  std::map<std::string, std::int64_t> tags;
  for (const LabelledText& one : file.texts) {
    std::string text = one.text, tagged;
    for (std::size_t i = 0; i < one.words.size(); ++i) {
      text += (i ? " " : "") + one.words[i], tagged += (i ? " " : "") + one.tags[i];
      ++tags[one.tags[i]];
    }
    if (facts.samples.size() < kSamples)
      facts.samples.push_back({text, words ? tagged : one.answers.empty() ? "" : one.answers[0].text});
    texts.push_back(std::move(text));
  }
  facts.classes.assign(tags.begin(), tags.end());
  facts.texts.push_back(facts_of_lines({texts.begin(), texts.end()}));
  facts.texts[0].name = facts.data.paths[0].filename().string();
  if (file.bad.count() > 0) facts.findings.push_back({file.bad.text()});
}

void find_rare_classes(DataFacts& facts) {
  if (facts.data.kind == DataKind::tagged_words) return;
  Places none, rare;
  std::int64_t largest = 0, smallest = facts.examples;
  for (const auto& [name, count] : facts.classes) {
    if (count == 0) none.add(name);
    if (count == 1) rare.add(name);
    largest = std::max(largest, count), smallest = std::min(smallest, count);
  }
  none.report(facts.findings, "classes without an example (training needs one of each): {}");
  rare.report(facts.findings, "suspicious labels, classes with a single example: {}");
  if (facts.classes.size() == 1)
    facts.findings.push_back({fmt::format("suspicious labels, all examples are '{}'", facts.classes[0].first)});
  constexpr std::int64_t kUneven = 20;
  if (smallest > 1 && largest > kUneven * smallest)
    facts.findings.push_back({fmt::format("the largest class has {} examples, the smallest {}", largest, smallest)});
}

}  // namespace

Spread spread_of(std::vector<std::int64_t> numbers) {
  Spread spread{.count = static_cast<std::int64_t>(numbers.size())};
  if (numbers.empty()) return spread;
  std::ranges::sort(numbers);
  const auto at = [&](double share) {
    return numbers[static_cast<std::size_t>(std::ceil(share * static_cast<double>(numbers.size()))) - 1];
  };
  double sum = 0;
  for (std::int64_t number : numbers) sum += static_cast<double>(number);
  spread.least = numbers.front(), spread.median = at(0.5), spread.most95 = at(0.95), spread.most = numbers.back();
  spread.mean = sum / static_cast<double>(numbers.size());
  return spread;
}

TextFacts facts_of_lines(const std::vector<std::string_view>& lines) {
  TextFacts facts;
  std::vector<std::int64_t> characters, words;
  std::unordered_map<std::string_view, std::int64_t> counts;
  std::unordered_set<char32_t> letters;
  for (std::string_view line : lines) {
    facts.bytes += static_cast<std::int64_t>(line.size()) + 1;
    characters.push_back(static_cast<std::int64_t>(count_characters(line)));
    for (std::size_t at = 0; at < line.size();) {
      const char32_t letter = next_character(line, at);
      if (letter == kInvalidCharacter)
        ++at;
      else
        letters.insert(letter);
    }
    std::int64_t in_line = 0;
    for (std::size_t at = 0; (at = line.find_first_not_of(" \t", at)) != line.npos;) {
      const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
      const std::string_view word = line.substr(at, end - at);
      ++counts[word], ++in_line;
      at = end;
    }
    words.push_back(in_line);
  }
  facts.characters = spread_of(std::move(characters)), facts.words = spread_of(std::move(words));
  facts.distinct_characters = static_cast<std::int64_t>(letters.size());
  facts.distinct_words = static_cast<std::int64_t>(counts.size());
  for (const auto& [word, count] : counts) {
    const bool once = count == 1;
    const bool digit = std::ranges::any_of(word, [](char c) { return c >= '0' && c <= '9'; });
    facts.once += once ? 1 : 0, facts.digits += digit ? 1 : 0, facts.once_digits += once && digit ? 1 : 0;
  }
  return facts;
}

DataFacts gather_facts(const Recognised& data, const FactsOptions& options) {
  DataFacts facts{.data = data};
  check(options.test.empty() || data.kind == DataKind::labelled_images,
        "'{}' is to be tested with, but '{}' holds no labelled images", options.test.string(), data.paths[0].string());
  switch (data.kind) {
    case DataKind::text:
    case DataKind::parallel_text:
    case DataKind::text_pairs:
    case DataKind::labelled_text:
      add_text_facts(facts);
      break;
    case DataKind::tagged_words:
    case DataKind::answers:
      add_marked_facts(facts);
      break;
    case DataKind::labelled_images:
    case DataKind::loose_images:
    case DataKind::objects:
    case DataKind::captions:
      add_image_facts(facts, options);
      break;
  }
  find_rare_classes(facts);
  return facts;
}

}  // namespace attend::data
