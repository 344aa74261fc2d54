// Labelled texts from the files people have: quotes, missing cells, other encodings, and files that are none.
#include "attend/data/text/labelled_text.h"

#include <gtest/gtest.h>

#include "attend/base/error.h"
#include "attend/base/random.h"

namespace attend::data {
namespace {

LabelledFile parse(std::string_view text, const std::string& path, LabelledOptions options = {}) {
  return parse_labelled(text, path, options);
}

std::string message_of(std::string_view text, const std::string& path, const LabelledOptions& options = {}) {
  try {
    parse_labelled(text, path, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

void expect_message(const std::string& message, const std::string& part) {
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(LabelledText, CsvHasQuotesCommasAndLineFeedsInCells) {
  const LabelledFile file =
      parse("text,label\r\n\"one, \"\"two\"\"\",good\r\nplain \"quote\" inside,bad\r\n\"two\nlines\",good\n\nlast,bad",
            "a.csv");
  ASSERT_EQ(file.texts.size(), 4u);
  EXPECT_EQ(file.texts[0].text, "one, \"two\"");
  EXPECT_EQ(file.texts[0].label, "good");
  EXPECT_EQ(file.texts[1].text, "plain \"quote\" inside");
  EXPECT_EQ(file.texts[2].text, "two\nlines");
  EXPECT_EQ(file.texts[2].line, 4);
  EXPECT_EQ(file.texts[3].line, 7);
  EXPECT_EQ(file.bad.count(), 0);
}

TEST(LabelledText, TsvTakesQuotesAsTheyAreAndDropsTheByteOrderMark) {
  const LabelledFile file =
      parse("\xEF\xBB\xBFQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t7\t8\t\"Yes\", he said\tno\"\n0\t7\t8\ta\tb\n",
            "m.txt");
  ASSERT_EQ(file.texts.size(), 2u);
  EXPECT_EQ(file.texts[0].text, "\"Yes\", he said");
  EXPECT_EQ(file.texts[0].pair, "no\"");
  EXPECT_TRUE(file.texts[0].has_pair);
  EXPECT_EQ(file.texts[0].label, "1");
}

TEST(LabelledText, BadRowsAreCountedWithTheirFirstLine) {
  const LabelledFile file = parse("label\ttext\n1\tfine\n1\n0\tb\xFF\n\tno label\n1\t\n0\ta\tb\n0\tlast\n", "a.tsv");
  EXPECT_EQ(file.texts.size(), 2u);
  EXPECT_EQ(file.bad.count(), 5);
  expect_message(file.bad.text(), "5 rows left out");
  expect_message(file.bad.text(), "2 not 2 cells as the header has (first: line 3)");
  expect_message(file.bad.text(), "1 not UTF-8 (line 4)");
  expect_message(file.bad.text(), "1 without label (line 5)");
  expect_message(file.bad.text(), "1 without text (line 6)");
}

TEST(LabelledText, JsonLinesHaveNumbersAndMayBeBroken) {
  const LabelledFile file = parse(
      "{\"sentence1\": \"a\", \"sentence2\": \"b\", \"label\": 3.5}\n{broken\n[1]\n\n{\"sentence1\": \"c\", "
      "\"sentence2\": \"d\", \"label\": 1}\n{\"sentence1\": \"e\", \"label\": 1}\n",
      "a.jsonl");
  ASSERT_EQ(file.texts.size(), 2u);
  EXPECT_EQ(file.texts[0].label, "3.5");
  EXPECT_EQ(file.texts[1].line, 5);
  EXPECT_EQ(file.bad.count(), 3);
  expect_message(file.bad.text(), "2 not a JSON object (first: line 2)");
  expect_message(file.bad.text(), "1 without second text (line 6)");
  // Deep nesting does not reach the stack's end.
  expect_message(message_of(std::string(200000, '[') + "\n", "a.jsonl"), "no rows");
}

TEST(LabelledText, ColumnsAreNamedOrNumbered) {
  const LabelledOptions named{.text_column = "review", .label_column = "stars"};
  EXPECT_EQ(parse("id,review,stars\n1,nice,5\n", "a.csv", named).texts[0].label, "5");
  expect_message(message_of("id,review\n1,nice\n", "a.csv", named), "no column 'stars' among 'id', 'review'");
  expect_message(message_of("id,note\n1,nice\n", "a.csv"), "which column is the text?");
  expect_message(message_of("text\nnice\n", "a.csv"), "--label-column names it");
  const LabelledOptions numbered{.header = false, .text_column = "2", .label_column = "1"};
  EXPECT_EQ(parse("good\tnice\nbad\tugly\n", "a.tsv", numbered).texts[1].text, "ugly");
  expect_message(message_of("a,a\n1,2\n", "a.csv"), "a.csv:1: the header names the column \"a\" twice");
}

TEST(LabelledText, FilesThatAreNoneAreRefused) {
  expect_message(message_of("", "a.csv"), "a.csv: the file is empty");
  expect_message(message_of("text,label\n", "a.csv"), "no rows that can be used");
  expect_message(message_of("text,label\n\"open,1\nb,2\n", "a.csv"),
                 "a.csv:2: a quote is opened here and never closed");
  expect_message(message_of("text,label\n\"a\"b,1\n", "a.csv"), "a.csv:2: behind the closing quote");
  expect_message(message_of("text,label\nx\n", "a.csv"), "1 row left out");
  expect_message(message_of("abc", "a.bin"), "--format says so");
  expect_message(message_of("a b\n", "a.csv", {.format = "conll"}), "--task tag");
  expect_message(message_of("{}", "a.json", {.labelling = Labelling::answers}), "has no 'data'");
}

TEST(LabelledText, ConllIsReadIntoIob2) {
  // The first is IOB1, as CoNLL-2003 has it: two names of a kind side by side are told apart by B-.
  const LabelledFile file = parse(
      "-DOCSTART- -X- O O\n\nEU NNP I-NP I-ORG\nrejects VBZ I-VP O\nPeter NNP I-NP I-PER\nBlackburn NNP I-NP I-PER\n"
      "Mary NNP I-NP B-PER\n\n\nonly\n\nb\xFF X O\n\nA\tB-LOC\r\n",
      "eng.train", {.labelling = Labelling::words});
  ASSERT_EQ(file.texts.size(), 2u);
  EXPECT_EQ(file.texts[0].words, (std::vector<std::string>{"EU", "rejects", "Peter", "Blackburn", "Mary"}));
  EXPECT_EQ(file.texts[0].tags, (std::vector<std::string>{"B-ORG", "O", "B-PER", "I-PER", "B-PER"}));
  EXPECT_EQ(file.texts[1].tags, std::vector<std::string>{"B-LOC"});
  EXPECT_EQ(file.bad.count(), 2);
  expect_message(file.bad.text(), "1 without a column that is needed (line 10)");
  const LabelledFile parts = parse("EU NNP I-NP I-ORG\n", "x", {.labelling = Labelling::words, .label_column = "2"});
  EXPECT_EQ(parts.texts[0].tags[0], "NNP");
  expect_message(message_of("a b\n", "x", {.labelling = Labelling::words, .label_column = "tag"}), "numbers from 1");
  const LabelledFile lists =
      parse("{\"tokens\": [\"a\", \"b\"], \"tags\": [\"O\", \"I-X\"]}\n{\"tokens\": [\"a\"], \"tags\": []}\n",
            "x.jsonl", {.labelling = Labelling::words});
  EXPECT_EQ(lists.texts[0].tags[1], "B-X");
  EXPECT_EQ(lists.bad.count(), 1);
}

TEST(LabelledText, AnswersMustBeInTheContext) {
  const LabelledOptions answers{.labelling = Labelling::answers};
  const LabelledFile squad = parse(
      R"({"data": [{"paragraphs": [{"context": "Z\u00fcrich is a city.", "qas": [
          {"question": "What is it?", "answers": [{"text": "a city", "answer_start": 10}]},
          {"question": "Wrong place?", "answers": [{"text": "a city", "answer_start": 3}]},
          {"question": "None?", "answers": []}, 5]}]}, null]})",
      "x.json", answers);
  ASSERT_EQ(squad.texts.size(), 1u);
  EXPECT_EQ(squad.texts[0].answers[0].begin, 10);
  EXPECT_EQ(squad.bad.count(), 3);
  const LabelledFile lines = parse(
      R"({"question": "q", "context": "é one two", "answers": {"text": ["two", "one"], "answer_start": [6, 2]}}
{"question": "q", "context": "one two", "answer": "two"}
{"question": "q", "context": "one two", "answer": "three"}
)",
      "x.jsonl", {.labelling = Labelling::answers, .label_column = "answers"});
  ASSERT_EQ(lines.texts.size(), 1u);
  EXPECT_EQ(lines.texts[0].answers.size(), 2u);
  const LabelledFile cells =
      parse("question,context,answer,answer_start\nq,one two one,one,8\nq,one two,two,\n", "x.csv", answers);
  ASSERT_EQ(cells.texts.size(), 2u);
  EXPECT_EQ(cells.texts[0].answers[0].begin, 8);
  EXPECT_EQ(cells.texts[1].answers[0].begin, 4);
}

// Damaged files of every kind, read as every kind: texts or an Error, never anything else (ASan watches in CI).
TEST(LabelledText, MutatedFilesAreReadOrRefused) {
  const std::vector<std::string> files = {
      "text,label\r\n\"one, \"\"two\"\"\",good\r\n\"two\nlines\",bad\n",
      "label\ttext\tpair\n1\tfine\tx\n0\tb\xC3\xBC\ty\n",
      "{\"question\": \"q\", \"context\": \"\xC3\xA9 one two\", \"answers\": {\"text\": [\"two\"], \"answer_start\": "
      "[6]}}\n",
      "EU NNP I-NP I-ORG\nx y O\n\nA\tB-LOC\r\n",
      "{\"data\": [{\"paragraphs\": [{\"context\": \"Z one\", \"qas\": [{\"question\": \"w\", \"answers\": "
      "[{\"text\": \"one\", \"answer_start\": 2}]}]}]}]}"};
  const std::string bytes = "\",\n\r\t{}[]:0129\xFF\xC3 -BIO\\";
  int read = 0;
  for (std::uint64_t i = 0; i < 4000; ++i) {
    std::uint64_t drawn = 0;
    const auto draw = [&](std::size_t count) {
      return random_word(11, static_cast<std::uint32_t>(i), drawn++) % count;
    };
    std::string text = files[draw(files.size())];
    for (std::size_t edits = draw(6); edits > 0 && !text.empty(); --edits) {
      const std::size_t at = draw(text.size()), kind = draw(4);
      if (kind == 0) text[at] = bytes[draw(bytes.size())];
      if (kind == 1) text.erase(at, draw(5));
      if (kind == 2) text.insert(at, 1, bytes[draw(bytes.size())]);
      if (kind == 3 && draw(4) == 0) text.resize(at);
    }
    const char* formats[] = {"csv", "tsv", "jsonl", "conll", "squad"};
    LabelledOptions options{.labelling = static_cast<Labelling>(draw(3)), .format = formats[draw(5)]};
    options.header = draw(4) != 0;
    if (draw(3) == 0) options.label_column = std::to_string(draw(4));
    try {
      read += !parse_labelled(text, "file", options).texts.empty();
    } catch (const Error&) {
    }
  }
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace attend::data
