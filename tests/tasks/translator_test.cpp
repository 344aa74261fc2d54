// The translator: the same lines whatever the batch, the threads and the neighbours; lines that are empty, too long or
// not text; and where it looked.
#include "attend/tasks/translator.h"

#include <gtest/gtest.h>

#include "attend/backends.h"
#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/tasks/model_folder.h"
#include "tests/tasks/translator_fixture.h"

namespace attend::test {
namespace {

using tasks::load_translator;
using tasks::TranslatedLine;
using tasks::TranslateOptions;

const std::vector<std::string> kLines = {"I am a student.",
                                         "",
                                         "the house is blue",
                                         "   ",
                                         "Where is the station?",
                                         "He",
                                         "He is a student of music. He is blue & green.",
                                         "a",
                                         "is the"};

void expect_same(const std::vector<TranslatedLine>& found, const std::vector<TranslatedLine>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].translations.size(), expected[i].translations.size()) << "line " << i;
    for (std::size_t rank = 0; rank < found[i].translations.size(); ++rank) {
      EXPECT_EQ(found[i].translations[rank].text, expected[i].translations[rank].text) << i << " " << rank;
      EXPECT_NEAR(found[i].translations[rank].score, expected[i].translations[rank].score, 1e-4);
    }
  }
}

// A space that an editor left at the end of a line, or one in front of it, is no part of the sentence.
TEST(Translator, SpaceAroundALineChangesNothing) {
  const auto backend = open_backend("cpu", {.threads = 1});
  const auto loaded = load_translator("models/reverse-transformer", *backend);
  const std::vector<std::string> lines = {"tree lamp stone boat",   "tree lamp stone boat ",
                                          " tree lamp stone boat",  "\ttree lamp stone boat \t ",
                                          "tree lamp stone boat\r", "tree lamp stone boat\u00a0\u3000"};
  const auto translated = loaded->translator.translate(lines, {.beams = 2});
  EXPECT_EQ(translated[0].text(), "boat stone lamp tree");
  for (const TranslatedLine& line : translated) {
    EXPECT_EQ(line.text(), translated[0].text());
    EXPECT_NEAR(line.translations.at(0).score, translated[0].translations.at(0).score, 1e-4);
  }
}

TEST(Translator, BatchesAndThreadsChangeNothing) {
  const ModelFolder folder;
  for (const TranslateOptions& base : {TranslateOptions{.beams = 3, .n_best = 2}, TranslateOptions{.beams = 1},
                                       TranslateOptions{.n_best = 2, .sample = true, .top_k = 30, .seed = 4}}) {
    std::vector<TranslatedLine> first;
    for (int threads : {1, 2}) {
      const auto backend = open_backend("cpu", {.threads = threads});
      const auto loaded = load_translator(folder.path(), *backend);
      for (std::int64_t batch : {1, 3, 32}) {
        TranslateOptions options = base;
        options.batch = batch;
        const auto lines = loaded->translator.translate(kLines, options);
        if (first.empty()) first = lines;
        expect_same(lines, first);
      }
    }
    EXPECT_TRUE(first[1].translations.empty()) << "an empty line";
    EXPECT_EQ(first[3].text(), "") << "a blank line";
    EXPECT_EQ(first[0].translations.size(), static_cast<std::size_t>(base.n_best));
  }
}

// Lines handed over in two parts: numbers go on, so the draws do too.
TEST(Translator, SamplingGoesOnWhereTheWindowEnds) {
  const ModelFolder folder;
  const auto loaded = load_translator(folder.path(), cpu());
  TranslateOptions options{.sample = true, .seed = 9};
  const auto whole = loaded->translator.translate(kLines, options);
  auto parts = loaded->translator.translate(std::span(kLines).first(4), options);
  options.first_line = 5;
  for (TranslatedLine& line : loaded->translator.translate(std::span(kLines).subspan(4), options))
    parts.push_back(std::move(line));
  expect_same(parts, whole);
  options.seed = 10;
  EXPECT_NE(loaded->translator.translate(std::span(kLines).subspan(4), options)[2].text(), whole[6].text());
}

TEST(Translator, WarnsAboutLinesItHadToChange) {
  const ModelFolder folder(12);
  const auto loaded = load_translator(folder.path(), cpu());
  std::vector<std::string> warnings;
  TranslateOptions options{.beams = 1, .warn = [&](std::string_view text) { warnings.emplace_back(text); }};
  options.first_line = 100;
  const std::vector<std::string> lines = {"a", "He \xff is", "the xyzw house zyxw is qqq blue qqq and qqq green qqq"};
  EXPECT_EQ(loaded->translator.translate(lines, options).size(), 3u);
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_NE(warnings[0].find("line 101 is not UTF-8"), std::string::npos) << warnings[0];
  EXPECT_NE(warnings[1].find("line 102 has "), std::string::npos) << warnings[1];
  EXPECT_NE(warnings[1].find(" 11 "), std::string::npos) << warnings[1];
}

TEST(Translator, ShowsWhereItLooked) {
  const ModelFolder folder;
  const auto loaded = load_translator(folder.path(), cpu());
  const auto lines = loaded->translator.translate(kLines, {.beams = 2, .n_best = 2, .attention = true, .batch = 4});
  for (std::size_t i = 0; i < lines.size(); ++i)
    for (const tasks::Translation& translation : lines[i].translations) {
      const view::AttentionMap& map = translation.attention;
      ASSERT_EQ(map.weights.size(), map.source.size() * map.target.size());
      EXPECT_EQ(map.source.back(), " </s>");
      EXPECT_EQ(!map.target.empty() && map.target.back() == " </s>", translation.finished);
      std::string source;
      for (std::size_t s = 0; s + 1 < map.source.size(); ++s) source += map.source[s];
      EXPECT_EQ(source, kLines[i]);
      for (std::size_t t = 0; t < map.target.size(); ++t) {
        float sum = 0;
        for (std::size_t s = 0; s < map.source.size(); ++s) sum += map.weights[t * map.source.size() + s];
        EXPECT_NEAR(sum, 1, 1e-4) << "a row of weights is a distribution";
      }
    }
}

// Attention is that of the sentence alone, not of its batch.
TEST(Translator, AttentionDoesNotDependOnTheBatch) {
  const ModelFolder folder;
  const auto loaded = load_translator(folder.path(), cpu());
  const auto alone = loaded->translator.translate(kLines, {.beams = 1, .attention = true, .batch = 1});
  const auto together = loaded->translator.translate(kLines, {.beams = 1, .attention = true});
  for (std::size_t i : {0u, 4u, 6u}) {
    const auto &a = alone[i].translations[0].attention.weights, &b = together[i].translations[0].attention.weights;
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t j = 0; j < a.size(); ++j) EXPECT_NEAR(a[j], b[j], 1e-5);
  }
}

TEST(Translator, StopsBetweenBatches) {
  const ModelFolder folder;
  const auto loaded = load_translator(folder.path(), cpu());
  int batches = 0;
  TranslateOptions options{.beams = 1, .batch = 2};
  options.stop = [&] { return batches == 2; };
  options.done = [&](std::int64_t) { ++batches; };
  // The shortest four are done: "a", "He", "is the" and the next; the first line is not.
  const auto lines = loaded->translator.translate(kLines, options);
  EXPECT_EQ(batches, 2);
  EXPECT_LT(lines.size(), kLines.size());
  const auto all = loaded->translator.translate(kLines, {.beams = 1});
  for (std::size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(lines[i].text(), all[i].text());
}

TEST(Translator, SaysWhatIsWrongWithAFolder) {
  const auto message = [](const auto& action) {
    try {
      action();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  const ModelFolder folder;
  std::filesystem::remove(folder.path() / "model.safetensors");
  EXPECT_NE(message([&] { load_translator(folder.path(), cpu()); }).find("has no model.safetensors"),
            std::string::npos);
  const ModelFolder other;
  std::string json = read_file(other.path() / "tokenizer.json");
  for (std::size_t at; (at = json.find("<pad>")) != std::string::npos;) json.replace(at, 5, "<pod>");
  write_file(other.path() / "tokenizer.json", json);
  EXPECT_NE(message([&] { load_translator(other.path(), cpu()); }).find("no token <pad>"), std::string::npos);
  EXPECT_NE(message([&] { tasks::find_model("no-such-model"); }).find("no folder 'no-such-model'"), std::string::npos);
  EXPECT_NE(message([&] { tasks::find_model("no/such/folder"); }).find("no/such/folder"), std::string::npos);
  EXPECT_NE(message([&] { tasks::find_model(std::filesystem::temp_directory_path().string()); }).find("config.json"),
            std::string::npos);
}

}  // namespace
}  // namespace attend::test
