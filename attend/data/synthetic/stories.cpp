#include "attend/data/synthetic/stories.h"

#include <fmt/core.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/base/new_folder.h"
#include "attend/data/synthetic/text_folder.h"
#include "attend/data/synthetic/text_makers.h"

namespace attend::data {

namespace {

constexpr std::uint32_t kStream = 0x1000;  // streams of the translated languages are below

constexpr std::string_view kPeople[] = {"Mary", "John", "Sandra", "Daniel", "Anna", "Peter", "Julia", "Robert"};
constexpr std::string_view kRooms[] = {"kitchen", "garden", "office",  "bedroom",
                                       "library", "school", "station", "church"};
constexpr std::string_view kWent[] = {"went to", "walked to", "ran to", "moved to", "came to"};

// Two different ones.
template <std::size_t kCount>
std::pair<std::string_view, std::string_view> two_of(TextRandom& random, const std::string_view (&words)[kCount]) {
  const int first = random.below(static_cast<int>(kCount)), step = 1 + random.below(static_cast<int>(kCount) - 1);
  return {words[first], words[(first + step) % static_cast<int>(kCount)]};
}

// An example as a line or lines of its file, and the text that decides which set it is in.
struct Example {
  std::string key, lines;
  Json json = {};  // of a question
};

// "Mary went to the kitchen." What follows from it?
Example make_pair(TextRandom& random) {
  const auto [who, other] = two_of(random, kPeople);
  const auto [here, there] = two_of(random, kRooms);
  const std::string premise = fmt::format("{} {} the {}.", who, random.pick(kWent), here);
  const auto line = [&](std::string_view person, std::string_view is, std::string_view room, std::string_view label) {
    return Example{premise, fmt::format("{}\t{} {} in the {}.\t{}\n", premise, person, is, room, label)};
  };
  switch (random.below(6)) {
    case 0:
    case 1:
      return line(who, "is", here, "entailment");
    case 2:
      return line(who, "is not", here, "contradiction");
    case 3:
      return line(who, "is", there, "contradiction");
    case 4:
      return line(other, "is", here, "neutral");
    default:
      return line(other, "is not", there, "neutral");
  }
}

// A sentence of make_sentence(), or the same with one verb in the wrong number.
Example make_acceptable(TextRandom& random) {
  constexpr std::pair<std::string_view, std::string_view> kVerbs[] = {
      {"sleeps", "sleep"},   {"sings", "sing"}, {"runs", "run"},   {"waits", "wait"},        {"sees", "see"},
      {"follows", "follow"}, {"loves", "love"}, {"fears", "fear"}, {"remembers", "remember"}};
  const std::string right = make_sentence(random).source;
  if (random.one_in(2)) return {right, fmt::format("acceptable\t{}\n", right)};
  std::vector<std::pair<std::size_t, std::pair<std::string_view, std::string_view>>> found;  // place, old and new
  for (std::size_t begin = 0; begin < right.size();) {
    const std::size_t end = std::min(right.find(' ', begin), right.size());
    const std::string_view word = std::string_view(right).substr(begin, end - begin);
    for (const auto& [one, many] : kVerbs) {
      if (word == one) found.push_back({begin, {one, many}});
      if (word == many) found.push_back({begin, {many, one}});
    }
    begin = end + 1;
  }
  const auto& [place, words] = found[static_cast<std::size_t>(random.below(static_cast<int>(found.size())))];
  std::string wrong = right;
  wrong.replace(place, words.first.size(), words.second);
  return {right, fmt::format("unacceptable\t{}\n", wrong)};
}

// People walk about (task 1 of Weston et al. 2015, "Towards AI-Complete Question Answering").
Example make_question(TextRandom& random) {
  std::string story;
  struct Stay {
    std::string_view who, where;
    std::size_t place;
  };
  std::vector<Stay> stays;  // the last of each person is true
  const int sentences = 2 + random.below(3);
  for (int i = 0; i < sentences; ++i) {
    const std::string_view who = random.pick(kPeople), where = random.pick(kRooms);
    if (!story.empty()) story += " ";
    story += fmt::format("{} {} the ", who, random.pick(kWent));
    std::erase_if(stays, [&](const Stay& stay) { return stay.who == who; });
    stays.push_back({who, where, story.size()});
    story += fmt::format("{}.", where);
  }
  const Stay& asked = stays[static_cast<std::size_t>(random.below(static_cast<int>(stays.size())))];
  const Json answer = {{"text", std::string(asked.where)}, {"answer_start", static_cast<std::int64_t>(asked.place)}};
  const Json question = {
      {"id", ""}, {"question", fmt::format("Where is {}?", asked.who)}, {"answers", Json::array({answer})}};
  return {story, "", {{"context", story}, {"qas", Json::array({question})}}};
}

// Names that are people in one sentence and places in another.
Example make_tags(TextRandom& random) {
  constexpr std::string_view kNames[] = {"Paris",   "Florence", "Jordan", "Georgia", "Austin",  "Sydney",
                                         "Chelsea", "Victoria", "Chad",   "Kent",    "Lincoln", "Carolina"};
  constexpr std::string_view kFamily[] = {"Brown", "Miller", "Wilson", "Taylor"};
  // P is a person, L a place.
  constexpr std::string_view kForms[] = {"P visited P in L .",
                                         "P moved from L to L .",
                                         "in L , P wrote a letter to P .",
                                         "P likes P , but not L .",
                                         "the people of L know P .",
                                         "P said that P was born in L .",
                                         "trains from L to L are late , P told P ."};
  std::string text, lines;
  const std::string_view form = random.pick(kForms);
  const auto add = [&](std::string_view word, std::string_view tag) {
    text += (text.empty() ? "" : " ") + std::string(word);
    lines += fmt::format("{} {}\n", word, tag);
  };
  for (std::size_t begin = 0; begin < form.size();) {
    const std::size_t end = std::min(form.find(' ', begin), form.size());
    const std::string_view word = form.substr(begin, end - begin);
    if (word == "L") {
      add(random.pick(kNames), "B-LOC");
    } else if (word == "P") {
      add(random.pick(kNames), "B-PER");
      if (random.one_in(3)) add(random.pick(kFamily), "I-PER");
    } else {
      add(word, "O");
    }
    begin = end + 1;
  }
  return {text, lines + "\n"};
}

struct StoryTask {
  std::string_view name, ending, header;
  Example (*make)(TextRandom& random);
};
constexpr StoryTask kTasks[] = {{"pairs", "tsv", "sentence1\tsentence2\tlabel\n", make_pair},
                                {"sentences", "tsv", "label\tsentence\n", make_acceptable},
                                {"questions", "json", "", make_question},
                                {"tags", "conll", "", make_tags}};

}  // namespace

std::int64_t write_stories(const std::filesystem::path& folder, const StoryFolderOptions& options) {
  for (const std::int64_t count : {options.count, options.unseen})
    check(count >= 1 && count <= kMostTextLines, "make-data: a text has 1 to {} lines, not {}", kMostTextLines, count);
  check_empty_folder(folder, "make-data");
  NewFolder made(folder);
  std::int64_t bytes = 0, done = 0;
  std::uint32_t stream = kStream;
  for (const StoryTask& task : kTasks)
    for (const auto& [set, name] :
         {std::pair{TextSet::train, std::string("train")}, {TextSet::valid, "valid"}, {TextSet::test, "test"}}) {
      std::string text(task.header);
      Json paragraphs = Json::array();
      const std::int64_t count = set == TextSet::train ? options.count : options.unseen;
      for (std::int64_t line = 0; line < count; ++line, ++done) {
        TextRandom random(options.seed, stream, static_cast<std::uint64_t>(line));
        Example example = task.make(random);
        while (set_of(options.seed, example.key) != set) example = task.make(random);
        text += example.lines;
        if (example.json.is_object()) {
          example.json["qas"][0]["id"] = fmt::format("{}-{}", name, line + 1);
          paragraphs.push_back(std::move(example.json));
        }
        if (done % 1024 == 0 && options.on_progress) options.on_progress(done);
      }
      if (!paragraphs.empty()) {
        const Json article = {{"title", "stories"}, {"paragraphs", std::move(paragraphs)}};
        text = Json({{"version", "1.1"}, {"data", Json::array({article})}}).dump() + "\n";
      }
      write_file(made.path() / fmt::format("{}.{}.{}", task.name, name, task.ending), text);
      bytes += static_cast<std::int64_t>(text.size());
      ++stream;
    }
  if (options.on_progress) options.on_progress(done);
  made.take_place();
  return bytes;
}

}  // namespace attend::data
