// Made texts: dates are real ones and spelled as the head of text_dates.cpp says, number words add up to their digits,
// grammar agrees; no line of one set is in another, and a seed gives the same bytes.
#include "attend/data/synthetic/text_makers.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <ctime>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/data/synthetic/text_folder.h"

namespace attend::data {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLines = 3000;

std::vector<std::string> words_of_line(const std::string& line, const std::string& between = " ") {
  std::vector<std::string> words(1);
  for (const char c : line)
    if (between.find(c) != std::string::npos)
      words.emplace_back();
    else
      words.back() += c;
  std::erase(words, "");
  return words;
}

std::vector<TextPair> lines_of(TextKind kind, TextSet set = TextSet::train, std::uint64_t count = kLines) {
  std::vector<TextPair> pairs;
  for (std::uint64_t line = 0; line < count; ++line) pairs.push_back(make_text({.kind = kind}, set, line));
  return pairs;
}

// The date that strptime, which is not ours, reads under any of these formats; "" when none takes the whole text.
std::string read_by_the_library(const std::string& text) {
  for (const char* format : {"%d %b %Y", "%b %d, %Y", "%m/%d/%Y", "%d.%m.%Y", "%A, %d %b %Y", "%a %d %b %Y", "%d-%b-%y",
                             "%b %d, %y", "in %Y, on %b %d"}) {
    std::tm read{};
    const char* end = ::strptime(text.c_str(), format, &read);
    if (!end || *end || read.tm_year < 0) continue;
    return fmt::format("{}-{:02}-{:02}", read.tm_year + 1900, read.tm_mon + 1, read.tm_mday);
  }
  return "";
}

TEST(Texts, DatesAreWhatTheLibraryReadsInThem) {
  int read = 0;
  for (const TextPair& pair : lines_of(TextKind::dates)) {
    const int year = std::stoi(pair.target.substr(0, 4));
    EXPECT_TRUE(year >= 1930 && year <= 2029) << pair.target;
    EXPECT_EQ(pair.target.size(), 10u);
    // Two digits of a year are strptime's from 1969 on only.
    const bool short_year = pair.source.find(pair.target.substr(0, 4)) == std::string::npos;
    const std::string found = short_year && year < 1969 ? "" : read_by_the_library(pair.source);
    if (found.empty() || found.starts_with("00")) continue;
    EXPECT_EQ(found, pair.target) << pair.source;
    ++read;
  }
  EXPECT_GT(read, static_cast<int>(kLines) / 3);
}

TEST(Texts, AWeekdayIsTheRightOne) {
  int seen = 0;
  for (const TextPair& pair : lines_of(TextKind::dates)) {
    const std::vector<std::string> words = words_of_line(pair.source, ", ");
    if (words[0].size() < 6 || !words[0].ends_with("day")) continue;
    std::tm day{};
    ASSERT_NE(::strptime(pair.target.c_str(), "%Y-%m-%d", &day), nullptr);
    char name[32] = {};
    ASSERT_GT(std::strftime(name, sizeof name, "%A", &day), 0u);
    EXPECT_EQ(std::tolower(name[0]), std::tolower(words[0][0])) << pair.source;
    EXPECT_EQ(std::string(name).substr(1), words[0].substr(1)) << pair.source << " is " << pair.target;
    ++seen;
  }
  EXPECT_GT(seen, 50);
}

TEST(Texts, DatesHaveManySpellings) {
  std::set<std::string> shapes;
  for (const TextPair& pair : lines_of(TextKind::dates)) {
    std::string shape;
    for (const char c : pair.source) {
      const char kind = std::isdigit(static_cast<unsigned char>(c))   ? '9'
                        : std::isalpha(static_cast<unsigned char>(c)) ? 'a'
                                                                      : c;
      if (shape.empty() || shape.back() != kind) shape += kind;
    }
    shapes.insert(shape);
  }
  EXPECT_GE(shapes.size(), 12u);
}

// The words by what they are worth, from the dictionary rather than from the maker's tables.
TEST(Texts, NumberWordsAddUpToTheDigits) {
  const std::map<std::string, int> worth = {
      {"zero", 0},      {"one", 1},       {"two", 2},       {"three", 3},    {"four", 4},     {"five", 5},
      {"six", 6},       {"seven", 7},     {"eight", 8},     {"nine", 9},     {"ten", 10},     {"eleven", 11},
      {"twelve", 12},   {"thirteen", 13}, {"fourteen", 14}, {"fifteen", 15}, {"sixteen", 16}, {"seventeen", 17},
      {"eighteen", 18}, {"nineteen", 19}, {"twenty", 20},   {"thirty", 30},  {"forty", 40},   {"fifty", 50},
      {"sixty", 60},    {"seventy", 70},  {"eighty", 80},   {"ninety", 90}};
  std::set<std::size_t> lengths;
  for (const TextPair& pair : lines_of(TextKind::numbers)) {
    int thousands = 0, rest = 0;
    for (const std::string& word : words_of_line(pair.source, " -"))
      if (word == "thousand")
        thousands = rest, rest = 0;
      else if (word == "hundred")
        rest *= 100;
      else if (word != "and")
        rest += worth.at(word);
    EXPECT_EQ(std::to_string(thousands * 1000 + rest), pair.target) << pair.source;
    lengths.insert(pair.target.size());
  }
  EXPECT_EQ(lengths, (std::set<std::size_t>{1, 2, 3, 4, 5, 6}));
}

TEST(Texts, ReverseIsBackwards) {
  for (const TextPair& pair : lines_of(TextKind::reverse)) {
    std::vector<std::string> words = words_of_line(pair.source);
    std::ranges::reverse(words);
    EXPECT_EQ(words, words_of_line(pair.target));
    EXPECT_TRUE(words.size() >= 3 && words.size() <= 12);
  }
}

// What is needed lies exactly so far back, and all between is told by the six characters in front of it.
TEST(Texts, RecallNeedsWhatIsSoFarBack) {
  for (const std::int64_t distance : {8, 64, 333}) {
    std::map<std::string, char> next;
    for (std::uint64_t line = 0; line < 200; ++line) {
      const TextPair pair = make_text({.kind = TextKind::recall, .distance = distance}, TextSet::train, line);
      const std::string text = pair.source + pair.target;
      ASSERT_EQ(pair.target.size(), 3u);
      ASSERT_EQ(static_cast<std::int64_t>(pair.source.size()), distance);
      for (std::size_t i = pair.source.size(); i < text.size(); ++i)
        EXPECT_EQ(text[i], text[i - static_cast<std::size_t>(distance)]) << text;
      for (std::size_t i = 9; i < pair.source.size(); ++i) {
        const auto [known, fresh] = next.emplace(text.substr(i - 6, 6), text[i]);
        EXPECT_TRUE(fresh || known->second == text[i]) << text.substr(i - 6, 6);
      }
    }
  }
  EXPECT_THROW(make_text({.kind = TextKind::recall, .distance = 7}, TextSet::train, 0), Error);
}

// An article (l-) has the ending of its noun, and the first word, the verb, that of its subject, which follows it. The
// English verb of a sentence without more is plural exactly if that ending is.
TEST(Texts, GrammarAgrees) {
  const std::set<std::string> endings = {"a", "ai", "o", "oi"};
  const std::set<std::string> plural = {"sleep", "sing", "run", "wait"},
                              singular = {"sleeps", "sings", "runs", "waits"};
  int far = 0;
  for (const TextPair& pair : lines_of(TextKind::grammar)) {
    const std::vector<std::string> laro = words_of_line(pair.target), english = words_of_line(pair.source);
    const std::string ending = laro[1].substr(1);
    ASSERT_TRUE(laro[1][0] == 'l' && endings.contains(ending)) << pair.target;
    EXPECT_TRUE(laro[0].ends_with(ending)) << pair.target;
    for (std::size_t i = 1; i + 1 < laro.size(); ++i)
      if (laro[i][0] == 'l' && endings.contains(laro[i].substr(1))) {
        EXPECT_TRUE(laro[i + 1].ends_with(laro[i].substr(1))) << pair.target;
      }
    const std::string& last = english[english.size() - 2];
    if (!plural.contains(last) && !singular.contains(last)) continue;
    EXPECT_EQ(ending.ends_with('i'), plural.contains(last)) << pair.source;
    if (english.size() > 8) ++far;
  }
  EXPECT_GT(far, 100);
}

// il or elle by the gender of the noun that the adjective is about, as the articles of other sentences give it away.
TEST(Texts, PronounsAgreeWithTheirNouns) {
  const std::set<std::string> feminine = {"cow",    "goat", "mouse", "hen",    "goose",  "tortoise", "ewe",
                                          "street", "road", "river", "forest", "island", "cave"},
                              of_subject = {"tired", "hungry", "shy", "ill", "weak", "lazy"};
  std::map<std::string, int> seen;
  for (const TextPair& pair : lines_of(TextKind::pronouns)) {
    const PronounParts parts = pronoun_parts(pair.source);
    const std::string adjective = words_of_line(pair.source, " .").back();
    ASSERT_FALSE(parts.subject.empty() || parts.object.empty()) << pair.source;
    EXPECT_LT(pair.source.find(" " + parts.subject + " "), pair.source.find(" the " + parts.object)) << pair.source;
    EXPECT_EQ(parts.noun, of_subject.contains(adjective) ? parts.subject : parts.object) << pair.source;
    EXPECT_NE(pair.target.find(feminine.contains(parts.noun) ? "qu'elle était" : "qu'il était"), std::string::npos)
        << pair.target;
    ++seen[fmt::format("{}{}{}", feminine.contains(parts.subject), feminine.contains(parts.object),
                       parts.noun == parts.subject)];
  }
  EXPECT_EQ(seen.size(), 8u);  // both genders of both nouns, and either of them meant
  for (const auto& [kind, count] : seen) EXPECT_GT(count, static_cast<int>(kLines) / 16) << kind;
}

// The article of the noun that was meant has the gender of the pronoun: of one noun or of the other, as often as not.
TEST(Texts, CoreferenceIsBalanced) {
  std::map<std::string, int> seen;
  for (const TextPair& pair : lines_of(TextKind::coreference)) {
    EXPECT_NE(pair.source.find("t was "), std::string::npos) << pair.source;
    const bool first_feminine = pair.target.starts_with("La "), first_masculine = pair.target.starts_with("Le "),
               she = pair.target.find("elle ") != std::string::npos || pair.target.find("Elle ") != std::string::npos;
    if (first_feminine || first_masculine) ++seen[fmt::format("{}{}", first_feminine, she)];
  }
  EXPECT_EQ(seen.size(), 4u);  // the first noun's gender does not say the pronoun's
  for (const auto& [kind, count] : seen) EXPECT_GT(count, static_cast<int>(kLines) / 16) << kind;
}

// tests/fixtures/pronouns judges translators that were trained on these sentences: none of its verbs occurs in them.
TEST(Texts, CoreferenceLeavesTheJudgesSentencesOut) {
  std::istringstream judged(read_file("tests/fixtures/pronouns/en-fr.tsv"));
  std::vector<std::string> verbs;
  std::string line;
  std::getline(judged, line);  // the names of the columns
  while (std::getline(judged, line)) {
    const std::size_t noun = line.find(' ', 4), end = line.find(" the ", noun);
    ASSERT_NE(end, std::string::npos) << line;
    verbs.push_back(line.substr(noun, end - noun) + " the ");
  }
  EXPECT_EQ(verbs.size(), 60u);
  for (const TextPair& pair : lines_of(TextKind::coreference))
    for (const std::string& verb : verbs) EXPECT_EQ(pair.source.find(verb), std::string::npos) << pair.source;
}

class TextFolder : public testing::Test {
 protected:
  void SetUp() override { folder_ = fs::path(testing::TempDir()) / fmt::format("attend_texts_{}", ::getpid()); }
  void TearDown() override { fs::remove_all(folder_); }
  std::set<std::string> lines(const std::string& name) const {
    std::istringstream text(read_file(folder_ / name));
    std::set<std::string> found;
    for (std::string line; std::getline(text, line);) found.insert(line);
    return found;
  }
  fs::path folder_;
};

TEST_F(TextFolder, SetsShareNoLine) {
  for (const TextKind kind : {TextKind::dates, TextKind::numbers, TextKind::reverse, TextKind::pronouns,
                              TextKind::coreference, TextKind::grammar}) {
    fs::remove_all(folder_);
    write_texts(folder_, {.kind = kind, .count = 4000, .unseen = 500});
    for (const std::string side : {".src", ".tgt"}) {
      const std::set<std::string> train = lines("train" + side), valid = lines("valid" + side);
      for (const std::string& line : lines("test" + side))
        EXPECT_FALSE(train.contains(line) || valid.contains(line)) << line;
      for (const std::string& line : valid) EXPECT_FALSE(train.contains(line)) << line;
    }
    EXPECT_EQ(fs::exists(folder_ / "lines.txt"), kind == TextKind::grammar);
  }
  EXPECT_EQ(read_file(folder_ / "lines.txt"), read_file(folder_ / "train.src"));
  EXPECT_EQ(read_file(folder_ / "lines.valid.txt"), read_file(folder_ / "valid.src"));
}

TEST_F(TextFolder, ASeedGivesTheSameLinesForAnyCount) {
  write_texts(folder_, {.count = 10, .unseen = 20, .seed = 5});
  const std::string few = read_file(folder_ / "train.src"), tested = read_file(folder_ / "test.src");
  fs::remove_all(folder_);
  write_texts(folder_, {.count = 30, .unseen = 20, .seed = 5});
  EXPECT_TRUE(read_file(folder_ / "train.src").starts_with(few));
  EXPECT_EQ(read_file(folder_ / "test.src"), tested);
  fs::remove_all(folder_);
  write_texts(folder_, {.count = 30, .unseen = 20, .seed = 6});
  EXPECT_FALSE(read_file(folder_ / "train.src").starts_with(few));
}

TEST_F(TextFolder, WhatIsThereStays) {
  fs::create_directories(folder_);
  write_file(folder_ / "mine.txt", "mine");
  EXPECT_THROW(write_texts(folder_, {.count = 10, .unseen = 10}), Error);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
  EXPECT_THROW(write_texts(folder_ / "new", {.count = 0, .unseen = 10}), Error);
  EXPECT_FALSE(fs::exists(folder_ / "new"));
}

}  // namespace
}  // namespace attend::data
