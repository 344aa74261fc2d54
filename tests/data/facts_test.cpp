// Facts of small files, counted by hand, and what a user's own files are taken for.
#include "attend/data/facts/facts.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/data/facts/report.h"
#include "attend/data/images/labelled_images.h"
#include "attend/image/encode.h"
#include "tests/data/image_files.h"

namespace attend::data {
namespace {

namespace fs = std::filesystem;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class Facts : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("attend_facts_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path file(const std::string& name, const std::string& text) const {
    write_file(folder_ / name, text);
    return folder_ / name;
  }
  fs::path png(const std::string& name, int number) const {
    fs::create_directories((folder_ / name).parent_path());
    write_file(folder_ / name, image::encode_png(test::numbered_image(number)));
    return folder_ / name;
  }
  static std::string error_of(const std::vector<fs::path>& paths) {
    try {
      recognise(paths);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  static std::int64_t findings_with(const DataFacts& facts, const std::string& part) {
    return std::ranges::count_if(facts.findings, [&](const Finding& one) { return has(one.text, part); });
  }

  fs::path folder_;
};

TEST_F(Facts, SpreadByHand) {
  const Spread spread = spread_of({5, 1, 4, 2, 3, 10, 9, 8, 7, 6});
  EXPECT_EQ(spread.count, 10);
  EXPECT_EQ(spread.least, 1);
  EXPECT_EQ(spread.median, 5);  // half of them are at most 5
  EXPECT_EQ(spread.most95, 10);
  EXPECT_EQ(spread.most, 10);
  EXPECT_DOUBLE_EQ(spread.mean, 5.5);
  EXPECT_EQ(spread_of({}).count, 0);
}

TEST_F(Facts, LinesByHand) {
  const TextFacts facts = facts_of_lines({"the cat", "the 7 Käse", ""});
  EXPECT_EQ(facts.characters.most, 10);  // ä is one
  EXPECT_EQ(facts.characters.least, 0);
  EXPECT_EQ(facts.words.most, 3);
  EXPECT_EQ(facts.distinct_words, 4);
  EXPECT_EQ(facts.once, 3);
  EXPECT_EQ(facts.distinct_characters, 10);  // t h e, space, c a, 7, K ä s
  EXPECT_EQ(facts.digits, 1);
  EXPECT_EQ(facts.once_digits, 1);
}

TEST_F(Facts, PairsAndWhatIsWrongWithThem) {
  const DataFacts facts = gather_facts(recognise(
      {file("a.en", "one\ntwo\ntwo\nthree\n\nsame\none\n"), file("a.fr", "un\ndeux\ndeux\ntrois\nvide\nsame\nune\n")}));
  EXPECT_EQ(facts.examples, 7);
  EXPECT_EQ(facts.noun, "pairs");
  EXPECT_EQ(findings_with(facts, "pairs with an empty side: 1"), 1);
  EXPECT_EQ(findings_with(facts, "same text on both sides: 1"), 1);
  EXPECT_EQ(findings_with(facts, "duplicate pairs: 1"), 1);
  EXPECT_EQ(findings_with(facts, "two different translations: 1"), 1);
  ASSERT_EQ(facts.samples.size(), 3u);
  EXPECT_EQ(facts.samples[1].left + "/" + facts.samples[1].right, "two/deux");
  EXPECT_TRUE(has(error_of({folder_ / "a.en", folder_}), "is a folder"));
  const Recognised uneven = recognise({folder_ / "a.en", file("b.fr", "un\n")});
  EXPECT_THROW(gather_facts(uneven), Error);
}

TEST_F(Facts, TablesByTheirColumns) {
  const DataFacts named = gather_facts(recognise(
      {file("q.csv", "id,question,kind\n1,who is it,HUM\n2,where is it,LOC\n3,who is it,LOC\n4,why so,DESC\n")}));
  EXPECT_EQ(named.data.kind, DataKind::labelled_text);
  EXPECT_EQ(named.data.first + "/" + named.data.label, "question/kind");
  EXPECT_EQ(findings_with(named, "texts with two different labels: 1"), 1);
  EXPECT_EQ(findings_with(named, "classes with a single example: 2"), 1);
  // No usual names: the label is what repeats, the text what is long.
  std::string rows = "a\tb\n";
  for (int i = 0; i < 12; ++i)
    rows += (i % 2 ? "yes\tsentence number " : "no\tsentence number ") + std::to_string(i) + "\n";
  const Recognised looked = recognise({file("t.tsv", rows)});
  EXPECT_EQ(looked.kind, DataKind::labelled_text);
  EXPECT_EQ(looked.first + "/" + looked.label, "b/a");
  const Recognised bare = recognise({file("bare.tsv", rows.substr(4))});
  EXPECT_FALSE(bare.header);
  EXPECT_EQ(bare.first + "/" + bare.label, "2/1");
  const Recognised pairs =
      recognise({file("p.jsonl", "{\"en\": \"a\", \"fr\": \"b\"}\n{\"en\": \"c\", \"fr\": \"d\"}\n")});
  EXPECT_EQ(pairs.kind, DataKind::text_pairs);
  EXPECT_EQ(pairs.first + "/" + pairs.second, "en/fr");
}

TEST_F(Facts, FoldersOfImages) {
  png("photos/cat/1.png", 1), png("photos/cat/2.png", 2), png("photos/dog/1.png", 1), png("photos/dog/3.png", 3);
  file("photos/dog/broken.jpg", "no image");
  const DataFacts facts = gather_facts(recognise({folder_ / "photos"}));
  EXPECT_EQ(facts.examples, 5);
  ASSERT_EQ(facts.classes.size(), 2u);
  EXPECT_EQ(facts.classes[0], (std::pair<std::string, std::int64_t>("cat", 2)));
  EXPECT_EQ(facts.image_width.most, 12);
  EXPECT_EQ(facts.image_height.least, 10);
  EXPECT_EQ(findings_with(facts, "broken files: 1"), 1);
  EXPECT_EQ(findings_with(facts, "two different labels: 1"), 1);
  EXPECT_EQ(findings_with(facts, "classes without an example"), 0);
  fs::create_directories(folder_ / "photos/bird");
  EXPECT_EQ(findings_with(gather_facts(recognise({folder_ / "photos"})),
                          "classes without an example (training needs one of each): 1"),
            1);
  EXPECT_THROW(LabelledImages(folder_ / "photos"), Error);
}

TEST_F(Facts, ImagesToTestWithAreCompared) {
  png("set/train/cat/1.png", 1), png("set/train/cat/2.png", 2), png("set/train/Sea horse/1.png", 3);
  png("set/train/sea-horse/1.png", 4), png("set/train/sea-horse/2.png", 5);
  png("set/test/cat/9.png", 2), png("set/test/cat/8.png", 9), png("set/test/bird/1.png", 10);
  file("set/test/cat/broken.png", "no image");
  fs::create_directories(folder_ / "set/test/Sea horse");  // a label without an image
  const auto expect = [&](const DataFacts& facts) {
    EXPECT_EQ(facts.examples, 5);
    EXPECT_EQ(findings_with(facts, "images of the test set that are in the training set too (equal pixels): 1"), 1);
    EXPECT_EQ(findings_with(facts, "labels that do not match, in the test set alone: 1"), 1);
    EXPECT_EQ(findings_with(facts, "labels without an image in the test set: 2"), 1);
    EXPECT_EQ(findings_with(facts, "differ in case, blanks, - or _ alone: 1"), 1);
    EXPECT_EQ(findings_with(facts, "classes with a single example: 1"), 1);
    EXPECT_EQ(findings_with(facts, "broken files: 1"), 1);
  };
  expect(gather_facts(recognise({folder_ / "set"})));  // its own test part
  expect(gather_facts(recognise({folder_ / "set/train"}), {.test = folder_ / "set/test"}));
  // Without one, nothing is said of it.
  const DataFacts alone = gather_facts(recognise({folder_ / "set/train"}));
  EXPECT_EQ(findings_with(alone, "test set"), 0);
  EXPECT_THROW(gather_facts(recognise({file("t.txt", "a\nb\n")}), {.test = folder_ / "set/test"}), Error);
}

TEST_F(Facts, SaysWhatWasExpectedAndFound) {
  png("flat/1.png", 1);
  EXPECT_EQ(recognise({folder_ / "flat"}).kind, DataKind::loose_images);
  file("notes/a.txt", "x"), file("notes/b.txt", "x"), fs::create_directories(folder_ / "notes/old");
  const std::string error = error_of({folder_ / "notes"});
  EXPECT_TRUE(has(error, "expected images (.jpg, .jpeg, .png or .webp) in a folder for each class")) << error;
  EXPECT_TRUE(has(error, "found 1 folder (old) and 2 files (2 .txt)")) << error;
  EXPECT_TRUE(has(error_of({file("x.json", "{\"steps\": 3}")}), "found 'steps'"));
  EXPECT_TRUE(has(error_of({folder_ / "none"}), "there is no such file"));
}

TEST_F(Facts, OtherFiles) {
  EXPECT_EQ(recognise({file("i.json", R"({"images": [], "annotations": [{"bbox": []}]})")}).kind, DataKind::objects);
  EXPECT_EQ(recognise({file("c.json", R"({"images": [], "annotations": [{"caption": "a"}]})")}).kind,
            DataKind::captions);
  EXPECT_EQ(recognise({file("s.json", R"({"data": []})")}).kind, DataKind::answers);
  EXPECT_EQ(recognise({file("n.conll", "EU NNP B-ORG\nrejects VBZ O\n\nPeter NNP B-PER\n")}).kind,
            DataKind::tagged_words);
  EXPECT_EQ(recognise({file("plain.txt", "Once upon a time.\nThe end.\n")}).kind, DataKind::text);
  EXPECT_TRUE(is_data_json(folder_ / "i.json"));
  EXPECT_FALSE(is_data_json(file("recipe.json", R"({"task": "detect", "data": "from somewhere"})")));
}

TEST_F(Facts, LinesThatAreNotUtf8AreNamed) {
  const DataFacts facts = gather_facts(recognise({file("plain.txt", "Once upon a time.\nca\xE9 noir\nThe end.\n")}));
  EXPECT_EQ(findings_with(facts, "lines that are not UTF-8: 1"), 1);
}

TEST_F(Facts, ReportsEscapeWhatTheyShow) {
  const DataFacts facts =
      gather_facts(recognise({file("h.csv", "text,label\n<script>x</script>,<b>\nplain & simple,c\nthird,c\n")}));
  const std::string page = report_page(facts), text = report_text(facts);
  EXPECT_FALSE(has(page, "<script>"));
  EXPECT_TRUE(has(page, "&lt;script&gt;x&lt;/script&gt;")) << page;
  EXPECT_FALSE(has(page, "http"));  // it needs no other file
  EXPECT_TRUE(has(text, "plain & simple  ->  c")) << text;
}

}  // namespace
}  // namespace attend::data
