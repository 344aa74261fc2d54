// Made texts for BERT's four tasks: the readers of the public formats read them, the labels are true, no text is in two
// sets, and a seed gives the same bytes.
#include "attend/data/synthetic/stories.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/data/text/labelled_text.h"

namespace attend::data {
namespace {

namespace fs = std::filesystem;

class Stories : public testing::Test {
 protected:
  Stories() : folder_(fs::temp_directory_path() / ("attend_stories_" + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
    write_stories(folder_ / "made", {.count = 300, .unseen = 60});
  }
  ~Stories() override { fs::remove_all(folder_); }
  LabelledFile read(const std::string& name, Labelling labelling) const {
    return read_labelled((folder_ / "made" / name).string(), {.labelling = labelling});
  }

  fs::path folder_;
};

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word.back() == '.' ? word.substr(0, word.size() - 1) : word);
  return words;
}

TEST_F(Stories, AnswersAreWherePeopleWentLast) {
  const LabelledFile file = read("questions.train.json", Labelling::answers);
  ASSERT_EQ(file.texts.size(), 300u);
  EXPECT_EQ(file.bad.count(), 0);
  for (const LabelledText& text : file.texts) {
    std::map<std::string, std::string> where;
    const std::vector<std::string> words = words_of(text.pair);
    for (std::size_t i = 0; i + 4 < words.size(); ++i)  // Mary went to the kitchen
      if (words[i + 2] == "to" && words[i + 3] == "the") where[words[i]] = words[i + 4];
    const std::string asked = text.text.substr(9, text.text.size() - 10);  // Where is Mary?
    ASSERT_EQ(text.answers.size(), 1u);
    EXPECT_EQ(text.answers[0].text, where[asked]) << text.pair << text.text;
    EXPECT_TRUE(answer_fits(text.pair, text.answers[0]));
  }
}

TEST_F(Stories, PairsFollowFromWhatPeopleDid) {
  const LabelledFile file = read("pairs.train.tsv", Labelling::text);
  ASSERT_EQ(file.texts.size(), 300u);
  std::set<std::string> labels;
  for (const LabelledText& text : file.texts) {
    const std::vector<std::string> premise = words_of(text.text), said = words_of(text.pair);
    const bool same_room = premise.back() == said.back(), denied = said[2] == "not";
    const std::string truth = premise[0] != said[0] ? "neutral" : same_room != denied ? "entailment" : "contradiction";
    EXPECT_EQ(text.label, truth) << text.text << " " << text.pair;
    labels.insert(text.label);
  }
  EXPECT_EQ(labels.size(), 3u);
}

TEST_F(Stories, NamesArePeopleAndPlaces) {
  const LabelledFile file = read("tags.train.conll", Labelling::words);
  ASSERT_EQ(file.texts.size(), 300u);
  std::map<std::string, std::set<std::string>> tags;
  for (const LabelledText& text : file.texts)
    for (std::size_t i = 0; i < text.words.size(); ++i) tags[text.words[i]].insert(text.tags[i]);
  EXPECT_EQ(tags["Paris"], (std::set<std::string>{"B-PER", "B-LOC"}));
  EXPECT_EQ(tags["visited"], (std::set<std::string>{"O"}));
  EXPECT_EQ(tags["Brown"], (std::set<std::string>{"I-PER"}));
}

TEST_F(Stories, NoTextIsInTwoSets) {
  for (const auto& [name, labelling] :
       {std::pair<std::string, Labelling>{"pairs.{}.tsv", Labelling::text}, {"sentences.{}.tsv", Labelling::text}}) {
    std::map<std::string, std::string> set_of_text;
    for (const std::string set : {"train", "valid", "test"}) {
      std::string path = name;
      path.replace(path.find("{}"), 2, set);
      for (const LabelledText& text : read(path, labelling).texts)
        EXPECT_EQ(set_of_text.try_emplace(text.text, set).first->second, set) << text.text;
    }
  }
}

TEST_F(Stories, ASeedGivesTheSameBytes) {
  write_stories(folder_ / "again", {.count = 300, .unseen = 60});
  write_stories(folder_ / "other", {.count = 300, .unseen = 60, .seed = 2});
  for (const char* name : {"pairs.train.tsv", "sentences.test.tsv", "questions.valid.json", "tags.train.conll"}) {
    EXPECT_EQ(read_file(folder_ / "made" / name), read_file(folder_ / "again" / name)) << name;
    EXPECT_NE(read_file(folder_ / "made" / name), read_file(folder_ / "other" / name)) << name;
  }
  EXPECT_THROW(write_stories(folder_ / "made", {}), Error);  // it holds something
  EXPECT_THROW(write_stories(folder_ / "new", {.count = 0}), Error);
}

}  // namespace
}  // namespace attend::data
