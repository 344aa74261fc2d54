// attend/data/corpus: parallel text that is cleaned, compared, split and mixed.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "attend/base/files.h"
#include "attend/base/scratch_file.h"
#include "attend/data/corpus/clean.h"
#include "attend/data/corpus/duplicates.h"
#include "attend/data/corpus/mix.h"
#include "attend/data/corpus/quotation_marks.h"
#include "attend/data/corpus/split.h"
#include "attend/data/corpus/title_case.h"
#include "tests/data/corpus_files.h"

namespace attend::data {
namespace {

class Corpus : public ::testing::Test {
 protected:
  Corpus() : folder_(std::filesystem::path(testing::TempDir()) / "attend_corpus_test") {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~Corpus() override { std::filesystem::remove_all(folder_); }

  PairFiles files(const std::string& source, const std::string& target, const std::string& name = "text") {
    write_file(folder_ / (name + ".en"), source);
    write_file(folder_ / (name + ".fr"), target);
    return {folder_ / (name + ".en"), folder_ / (name + ".fr")};
  }
  std::filesystem::path folder_;
};

using test::message_of;

TEST_F(Corpus, PairsComeLineByLine) {
  PairReader reader(files("one\r\ntwo\n\nlast", "un\ndeux\n\nfin\n"));
  PairView pair;
  std::vector<std::string> lines;
  while (reader.next(pair)) lines.push_back(std::string(pair.source) + "=" + std::string(pair.target));
  EXPECT_EQ(lines, (std::vector<std::string>{"one=un", "two=deux", "=", "last=fin"}));
}

TEST_F(Corpus, AShorterSideIsNamed) {
  PairReader reader(files("one\ntwo\n", "un\n"));
  PairView pair;
  const std::string message = message_of([&] {
    while (reader.next(pair)) continue;
  });
  EXPECT_NE(message.find("text.fr' ends after 1 lines"), message.npos) << message;
}

TEST_F(Corpus, AHugeLineIsNoSentence) {
  PairReader reader(files("one\n" + std::string(10 << 20, 'x') + "\n", "un\ndeux\n"));
  PairView pair;
  ASSERT_TRUE(reader.next(pair));
  const std::string message = message_of([&] { reader.next(pair); });
  EXPECT_NE(message.find("line 2: 10485760 bytes"), message.npos) << message;
}

TEST_F(Corpus, FilesThatWillNotDoAreNamed) {
  const auto message = [&](const std::string& source, const std::string& target) {
    const PairFiles pair = files(source, target);
    return message_of([&] { check_pairs(pair); });
  };
  std::string lines, latin, nearly;
  for (int i = 0; i < 40; ++i) {
    lines += "line\n";
    latin += i % 2 == 1 ? "\xe9t\xe9\n" : "ligne\n";
    nearly += i == 7 ? "\xe9t\xe9\n" : "ligne\n";
  }
  EXPECT_EQ(message(lines, lines), "no error");
  EXPECT_EQ(message(lines, nearly), "no error");  // one line is for the reader to drop
  EXPECT_NE(message(lines, latin).find("text.fr' is not UTF-8 text: 20 of its 40 lines, the first is line 2"),
            std::string::npos)
      << message(lines, latin);
  EXPECT_NE(message("", "").find("text.en' is empty"), std::string::npos) << message("", "");
  EXPECT_NE(message(lines, "").find("text.fr' is empty"), std::string::npos) << message(lines, "");
  const PairFiles once = files(lines, lines);
  std::filesystem::create_symlink(once.source, folder_ / "same.fr");
  for (const auto& target : {once.source, folder_ / "same.fr"}) {
    const std::string same = message_of([&] { check_pairs({once.source, target}); });
    EXPECT_NE(same.find("is given as source and as target"), std::string::npos) << same;
  }
}

TEST_F(Corpus, AnEmptyTestSetExcludesNothingByMistake) {
  write_file(folder_ / "test.en", "\n \n");
  PairCleaner cleaner({}, {});
  EXPECT_NE(message_of([&] { cleaner.exclude(folder_ / "test.en"); }).find("no line to exclude"), std::string::npos);
}

TEST(CommonForm, IsNfcWithSingleSpaces) {
  EXPECT_EQ(common_form(" e\xCC\x81t\xC3\xA9 \t d\xC2\xA0\xE2\x80\x8B"
                        "ici\x01 "),
            "\xC3\xA9t\xC3\xA9 d ici");
  EXPECT_EQ(common_form("plain"), "plain");
  EXPECT_EQ(common_form(" \xC2\xA0 "), "");
}

TEST(LineKey, IgnoresCaseSpaceAndPunctuation) {
  EXPECT_EQ(line_key("Une Été, à 3 h !"), line_key("une été à 3h"));
  EXPECT_NE(line_key("a b"), line_key("a c"));
  EXPECT_NE(line_key("..."), line_key("!"));
}

TEST(KeySet, KeepsWhatWasAdded) {
  KeySet set;
  EXPECT_FALSE(set.has(0));
  for (std::uint64_t key = 0; key < 10000; ++key) set.add(key * key);
  for (std::uint64_t key = 1; key < 10000; ++key) EXPECT_TRUE(set.has(key * key));
  EXPECT_FALSE(set.has(2));
}

// Sentences of two languages, enough for their trigrams.
PairFiles two_languages(const std::filesystem::path& folder) {
  const std::vector<std::pair<std::string, std::string>> words = {
      {"the house is white", "la maison est blanche"},
      {"she reads the newspaper", "elle lit le journal"},
      {"we are going to school", "nous allons à l'école"},
      {"they have bought a car", "ils ont acheté une voiture"},
      {"the weather is nice today", "il fait beau aujourd'hui"}};
  std::string source, target;
  for (int i = 0; i < 40; ++i)
    for (const auto& [one, other] : words) source += one + "\n", target += other + "\n";
  write_file(folder / "profile.en", source);
  write_file(folder / "profile.fr", target);
  return {folder / "profile.en", folder / "profile.fr"};
}

TEST_F(Corpus, FaultsOfAPair) {
  PairCleaner cleaner({.max_words = 8, .max_ratio = 2}, LanguageProfile(PairReader(two_languages(folder_))));
  write_file(folder_ / "test.en", "This is a TEST sentence.\n");
  cleaner.exclude(folder_ / "test.en");
  const auto fault = [&](const char* source, const char* target) { return cleaner.clean({source, target}); };
  EXPECT_EQ(fault("The house is nice.", "La maison est belle."), PairFault::none);
  EXPECT_EQ(fault("Yes, I do.", "Oui."), PairFault::none);
  EXPECT_EQ(fault("one \xff two", "un"), PairFault::invalid_utf8);
  EXPECT_EQ(fault("one", " "), PairFault::empty);
  EXPECT_EQ(fault("a b c d e f g h i", "a b c d e f g h i j"), PairFault::too_long);
  EXPECT_EQ(fault("I", "Je ne le sais pas du tout."), PairFault::length_ratio);
  EXPECT_EQ(fault("Amazon Web Services", "Amazon Web Services"), PairFault::identical);
  EXPECT_EQ(fault("Bogota", "Bogota"), PairFault::none);
  EXPECT_EQ(fault("The weather is nice today.", "She is reading the newspaper."), PairFault::language);
  EXPECT_EQ(fault("Il lit le journal à la maison.", "Elle est à l'école aujourd'hui."), PairFault::language);
  EXPECT_EQ(fault("this is a test sentence", "ceci est une phrase de test"), PairFault::test_overlap);
  EXPECT_EQ(fault("une phrase de cinq mots", "This is a test, sentence"), PairFault::test_overlap);
}

TEST(Duplicates, ExactAndNear) {
  DuplicateFilter filter;
  const auto add = [&](const char* source, const char* target) { return filter.add({source, target}); };
  const char* const source =
      "Section 12 of the act applies to every person who has not paid the tax in the year before";
  const char* const target =
      "L'article 12 de la loi s'applique à toute personne qui n'a pas payé l'impôt l'année précédente";
  EXPECT_EQ(add(source, target), Duplicate::none);
  EXPECT_EQ(add("SECTION 12 of the act applies to every person who has not paid the tax in the year before.", target),
            Duplicate::exact);
  EXPECT_EQ(add("Section 35 of the act applies to every person who has not paid the tax in the year before",
                "L'article 35 de la loi s'applique à toute personne qui n'a pas payé l'impôt l'année précédente"),
            Duplicate::near);
  EXPECT_EQ(add("A black box records every mile that a motorist drives and sends it to the government each month",
                "Une boîte noire enregistre chaque kilomètre parcouru et l'envoie au gouvernement chaque mois"),
            Duplicate::none);
  EXPECT_EQ(add(source, "Autre traduction de la même phrase, sans aucun mot en commun avec la première"),
            Duplicate::none);
  EXPECT_EQ(add("Yes.", "Oui."), Duplicate::none);
  EXPECT_EQ(add("No.", "Non."), Duplicate::none);

  DuplicateFilter by_source({.side = DuplicateSide::source, .near = false});
  EXPECT_EQ(by_source.add({"yes", "oui"}), Duplicate::none);
  EXPECT_EQ(by_source.add({"Yes!", "si"}), Duplicate::exact);
}

TEST_F(Corpus, HeldOutSetsShareNoLine) {
  std::string source, target;
  for (int i = 0; i < 500; ++i) {
    source += "sentence number " + std::to_string(i % 400) + "\n";  // a fifth comes twice, with another translation
    target += "phrase " + std::to_string(i) + "\n";
  }
  const PairFiles corpus = files(source, target);
  Split split{PairReader(corpus), {.valid = 30, .test = 50}};
  std::map<SplitPart, std::set<std::string>> sources;
  std::map<SplitPart, int> counts;
  PairReader reader(corpus);
  for (PairView pair; reader.next(pair);) {
    const SplitPart part = split.part_of(pair);
    sources[part].insert(std::string(pair.source));
    ++counts[part];
  }
  EXPECT_EQ(counts[SplitPart::valid], 30);
  EXPECT_EQ(counts[SplitPart::test], 50);
  EXPECT_EQ(counts[SplitPart::train] + counts[SplitPart::dropped], 420);
  EXPECT_GT(counts[SplitPart::dropped], 0);
  for (const SplitPart part : {SplitPart::valid, SplitPart::test})
    for (const std::string& line : sources[part]) EXPECT_FALSE(sources[SplitPart::train].contains(line)) << line;
  EXPECT_NE(message_of([&] { Split{PairReader(corpus), {.valid = 300, .test = 300}}; }), "");
}

TEST_F(Corpus, MixTakesWeightsAndShuffles) {
  std::string many_source, many_target;
  for (int i = 0; i < 1000; ++i)
    many_source += "a" + std::to_string(i) + "\n", many_target += "A" + std::to_string(i) + "\n";
  std::vector<CorpusSource> sources = {
      {.name = "many", .files = files(many_source, many_target, "many"), .weight = 0.5},
      {.name = "few", .files = files("x\ny\n", "X\nY\n", "few"), .weight = 3, .tag = "<bt>"}};
  std::vector<std::pair<std::string, std::string>> written;
  const auto mixed = mix_corpora(sources, {.seed = 7, .scratch = folder_},
                                 [&](const PairView& pair) { written.emplace_back(pair.source, pair.target); });
  ASSERT_EQ(mixed.size(), 2u);
  EXPECT_EQ(mixed[0].read, 1000);
  EXPECT_NEAR(static_cast<double>(mixed[0].written), 500, 80);  // five standard deviations
  EXPECT_EQ(mixed[1].written, 6);
  EXPECT_EQ(std::ranges::count(written, std::pair<std::string, std::string>("<bt> x", "X")), 3);
  std::vector<int> order;
  for (const auto& [source, target] : written)
    if (source[0] == 'a') {
      EXPECT_EQ(target, "A" + source.substr(1));
      order.push_back(std::stoi(source.substr(1)));
    }
  EXPECT_FALSE(std::ranges::is_sorted(order));
  std::vector<std::pair<std::string, std::string>> again;
  mix_corpora(sources, {.seed = 7, .scratch = folder_},
              [&](const PairView& pair) { again.emplace_back(pair.source, pair.target); });
  EXPECT_EQ(written, again);
}

TEST_F(Corpus, AFolderIsItsPairsWithoutHeldOutOnes) {
  for (const char* name : {"europarl", "europarl.dev", "test", "train"}) files("a\n", "b\n", name);
  write_file(folder_ / "alone.en", "a\n");
  std::vector<std::string> held_out, names;
  for (const CorpusSource& source : find_corpora(folder_, "en", "fr", held_out)) names.push_back(source.name);
  EXPECT_EQ(names, (std::vector<std::string>{"europarl", "attend_corpus_test"}));
  EXPECT_EQ(held_out.size(), 2u);
  EXPECT_NE(message_of([&] { find_corpora(folder_ / "none", "en", "fr", held_out); }), "");
}

TEST(TitleCase, CapitalisesAsHeadlinesDo) {
  EXPECT_EQ(title_cased("A black box in your car?"), "A Black Box in Your Car?");
  EXPECT_EQ(title_cased("the tea party is aghast."), "The Tea Party Is Aghast");
  EXPECT_EQ(title_cased(""), "");
}

TEST(QuotationMarks, OpenAndCloseInTurns) {
  EXPECT_EQ(count_marks("No marks, don't count."), 0);
  EXPECT_EQ(count_marks("He said \"yes\" and \u201Cno\u201D."), 4);
  EXPECT_EQ(count_marks("l'\u00ABami\u00BB"), 2);
  EXPECT_EQ(count_marks("A 5\" pipe"), -1);
  EXPECT_EQ(count_marks("A 5\" pipe and a 3\" pipe"), -1);  // a mark behind a digit opens nothing
  EXPECT_EQ(count_marks("\"It begins here"), -1);
  EXPECT_EQ(count_marks("\u00AB a \u201Cb\u201D c \u00BB"), -1);  // a quotation in a quotation
  EXPECT_EQ(count_marks("\xff"), -1);
}

TEST(QuotationMarks, AreThoseOfTheLanguage) {
  EXPECT_EQ(with_marks("Il dit\u00A0: \u00AB\u00A0oui\u00A0\u00BB, non.", own_marks("en")),
            "Il dit\u00A0: \"oui\", non.");
  EXPECT_EQ(with_marks("\"oui\" ou \"non\"", own_marks("fr")), "\u00AB oui \u00BB ou \u00AB non \u00BB");
  EXPECT_EQ(with_marks("\"\"", own_marks("fr")), "\u00AB \u00BB");
  EXPECT_EQ(quoted("Ja.", own_marks("de")), "\u201EJa.\u201C");
  std::set<std::string> seen;
  for (std::uint32_t draw = 0; draw < 9; ++draw) seen.insert(quoted("x", some_marks("de", draw)));
  EXPECT_EQ(seen, (std::set<std::string>{"\u201Ex\u201C", "\"x\"", "\u00ABx\u00BB"}));
}

const Variant& variant(const std::string& flag) {
  return *std::ranges::find_if(kVariants, [&](const Variant& one) { return one.flag == flag; });
}

// The copy as "source=target", or "-" where the variant does not fit.
std::string copy_of(const std::string& flag, const char* source, const char* target) {
  PairText copy;
  const VariantChoice choice{.source_language = "en", .target_language = "fr", .draw = 1};
  return variant(flag).apply({source, target}, choice, copy) ? copy.source + "=" + copy.target : "-";
}

TEST(Variants, FitSomePairs) {
  EXPECT_EQ(copy_of("--title-case", "A car.", "Une voiture."), "A Car=Une voiture.");
  EXPECT_EQ(copy_of("--quotes", "He said \"yes\".", "Il dit \"oui\"."),
            "He said \u201Cyes\u201D.=Il dit \u00AB oui \u00BB.");
  EXPECT_EQ(copy_of("--quotes", "He said yes.", "Il dit \"oui\"."), "-");
  EXPECT_EQ(copy_of("--no-full-stop", "A car.", "Une voiture."), "A car=Une voiture");
  EXPECT_EQ(copy_of("--no-full-stop", "And then...", "Et puis..."), "-");
  EXPECT_EQ(copy_of("--no-full-stop", "Is it?", "Est-ce cela."), "-");
  EXPECT_EQ(copy_of("--no-full-stop", ".", "."), "-");
  EXPECT_EQ(copy_of("--quoted", "Come in.", "Entrez."), "\u201CCome in.\u201D=\u00AB Entrez. \u00BB");
  EXPECT_EQ(copy_of("--quoted", "Say \"yes\".", "Dis \"oui\"."), "-");
}

TEST_F(Corpus, VariantsStandBesideTheirPairs) {
  std::string source, target;
  for (int i = 0; i < 2000; ++i) {
    source += "line " + std::to_string(i) + ".\n";
    target += "ligne " + std::to_string(i) + ".\n";
  }
  const std::vector<CorpusSource> sources = {{.name = "lines", .files = files(source, target)}};
  const auto mixed_with = [&](const VariantShares& shares, std::vector<std::string>& written) {
    const auto mixed = mix_corpora(
        sources, {.seed = 3, .variants = shares, .scratch = folder_},
        [&](const PairView& pair) { written.push_back(std::string(pair.source) + "=" + std::string(pair.target)); });
    std::ranges::sort(written);
    return mixed[0];
  };
  std::vector<std::string> plain, some, again, more;
  mixed_with({}, plain);
  const MixedCorpus mixed = mixed_with({.no_full_stop = 0.1, .quoted = 0.2}, some);
  EXPECT_EQ(mixed.copies[0] + mixed.copies[1], 0);
  EXPECT_NEAR(static_cast<double>(mixed.copies[2]), 200, 67);  // five standard deviations
  EXPECT_NEAR(static_cast<double>(mixed.copies[3]), 400, 90);
  EXPECT_EQ(static_cast<std::int64_t>(some.size()), 2000 + mixed.copies[2] + mixed.copies[3]);
  EXPECT_TRUE(std::ranges::includes(some, plain));
  mixed_with({.no_full_stop = 0.1, .quoted = 0.2}, again);
  EXPECT_EQ(some, again);
  mixed_with({.title_case = 1, .no_full_stop = 0.1, .quoted = 0.2}, more);  // another variant changes no other copy
  EXPECT_TRUE(std::ranges::includes(more, some));
}

TEST_F(Corpus, ScratchFilesLeaveNothingBehind) {
  ScratchFile file(folder_);
  const std::string large(200'000, 'x');
  file.write("begin"), file.write(large), file.write("end");
  EXPECT_EQ(file.read(), "begin" + large + "end");
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

}  // namespace
}  // namespace attend::data
