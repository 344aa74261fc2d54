// attend data clean, dedup, split and mix.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "attend/base/files.h"
#include "attend/base/json.h"
#include "tests/cli/run_attend.h"

namespace attend::test {
namespace {

class DataCommands : public ::testing::Test {
 protected:
  DataCommands() : folder_(std::filesystem::path(testing::TempDir()) / "attend_data_commands") {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~DataCommands() override { std::filesystem::remove_all(folder_); }

  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  std::string put(const std::string& name, const std::string& text) const {
    write_file(at(name), text);
    return at(name);
  }
  std::filesystem::path folder_;
};

TEST_F(DataCommands, CleanDropsWhatATestHas) {
  put("a.en", "Good morning.\nHow  are you?\n\nThis is a test.\n");
  put("a.fr", "Bonjour.\nComment ça va ?\nvide\nCeci est un test.\n");
  put("test.en", "THIS IS A TEST\n");
  const Outcome run =
      run_attend({"data", "clean", "--source", at("a.en"), "--target", at("a.fr"), "--out-source", at("b.en"),
                  "--out-target", at("b.fr"), "--exclude", at("test.en"), "--report", at("report.json")});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(read_file(at("b.en")), "Good morning.\nHow are you?\n");
  EXPECT_EQ(read_file(at("b.fr")), "Bonjour.\nComment ça va ?\n");
  const Json report = Json::parse(read_file(at("report.json")));
  EXPECT_EQ(report["read"], Json(4));
  EXPECT_EQ(report["kept"], Json(2));
  EXPECT_EQ(report["dropped: in an excluded test set"], Json(1));
  EXPECT_EQ(report["dropped: an empty side"], Json(1));
}

TEST_F(DataCommands, DedupKeepsTheFirst) {
  put("a.en", "Yes.\nNo.\nyes\n");
  put("a.fr", "Oui.\nNon.\nOUI\n");
  const Outcome run = run_attend({"data", "dedup", "--source", at("a.en"), "--target", at("a.fr"), "--out-source",
                                  at("b.en"), "--out-target", at("b.fr")});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(read_file(at("b.fr")), "Oui.\nNon.\n");
}

TEST_F(DataCommands, SplitAndMixGiveEveryPairOnce) {
  std::string source, target;
  for (int i = 0; i < 50; ++i)
    source += "line " + std::to_string(i) + "\n", target += "ligne " + std::to_string(i) + "\n";
  put("a.en", source), put("a.fr", target);
  ASSERT_EQ(run_attend({"data", "split", "--source", at("a.en"), "--target", at("a.fr"), "--valid", "5", "--test", "6",
                        "--out", at("split")})
                .code,
            0);
  const Outcome mix =
      run_attend({"data", "mix", at("split"), "--out-source", at("mix.en"), "--out-target", at("mix.fr"), "--mix",
                  "split:2", "--exclude", at("split/test.en"), at("split/valid.fr")});
  ASSERT_EQ(mix.code, 0) << mix.err;
  EXPECT_NE(mix.out.find("held out by their names"), std::string::npos) << mix.out;
  const std::string mixed = read_file(at("mix.en"));
  EXPECT_EQ(std::count(mixed.begin(), mixed.end(), '\n'), 2 * 39);
}

TEST_F(DataCommands, SplitMakesARelativeFolder) {
  std::string text;
  for (int i = 0; i < 30; ++i) text += "line " + std::to_string(i) + "\n";
  put("a.en", text), put("a.fr", text);
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  const Outcome run = run_attend(
      {"data", "split", "--source", "a.en", "--target", "a.fr", "--valid", "2", "--test", "2", "--out", "new/split"});
  std::filesystem::current_path(before);
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(std::filesystem::exists(folder_ / "new/split/test.fr"));
}

TEST_F(DataCommands, EveryCommandRefusesAnotherEncoding) {
  std::string source, latin;
  for (int i = 0; i < 20; ++i) {
    source += "summer " + std::to_string(i) + "\n";
    latin += "\xe9t\xe9 " + std::to_string(i) + "\n";
  }
  put("a.en", source), put("a.fr", latin);
  const std::vector<std::string> in = {"--source", at("a.en"), "--target", at("a.fr")};
  const std::vector<std::string> out = {"--out-source", at("b.en"), "--out-target", at("b.fr")};
  const auto refused = [&](std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    const Outcome run = run_attend(words);
    EXPECT_EQ(run.code, 1) << words[1];
    EXPECT_NE(run.err.find("a.fr' is not UTF-8 text: 20 of its 20 lines"), std::string::npos) << run.err;
    EXPECT_FALSE(std::filesystem::exists(at("b.en"))) << words[1];
  };
  std::vector<std::string> both = in;
  both.insert(both.end(), out.begin(), out.end());
  refused({"data", "clean"}, both);
  refused({"data", "dedup"}, both);
  refused({"data", "mix", at("a")}, out);
  both = in;
  both.insert(both.end(), {"--out", at("split"), "--valid", "2", "--test", "2"});
  refused({"data", "split"}, both);
  both = in;
  both.insert(both.end(),
              {"--valid-source", at("a.en"), "--valid-target", at("a.fr"), "--steps", "1", "--out", at("run")});
  refused({"train", "--task", "translation"}, both);
}

TEST_F(DataCommands, MixAddsCopiesForTheNews) {
  put("a.en", "He said \"yes\".\n"), put("a.fr", "Il a dit \"oui\".\n");
  const Outcome run =
      run_attend({"data", "mix", at("a"), "--quotes", "1", "--no-full-stop", "1", "--quoted", "1", "--title-case", "1",
                  "--out-source", at("b.en"), "--out-target", at("b.fr"), "--report", at("report.json")});
  ASSERT_EQ(run.code, 0) << run.err;
  const std::string target = read_file(at("b.fr"));
  EXPECT_EQ(std::count(target.begin(), target.end(), '\n'), 4);  // the pair, three copies; it is a quotation already
  EXPECT_NE(target.find("Il a dit \u00AB oui \u00BB.\n"), std::string::npos) << target;
  EXPECT_EQ(Json::parse(read_file(at("report.json")))["of them copies with other quotation marks"], Json(1));
  EXPECT_EQ(
      run_attend({"data", "mix", at("a"), "--quoted", "1.5", "--out-source", at("c.en"), "--out-target", at("c.fr")})
          .code,
      1);
}

TEST_F(DataCommands, BadInputIsNamedAndNothingIsTouched) {
  put("a.en", "one\ntwo\n"), put("a.fr", "un\n"), put("old.en", "old\n");
  const Outcome shorter = run_attend({"data", "clean", "--source", at("a.en"), "--target", at("a.fr"), "--out-source",
                                      at("old.en"), "--out-target", at("b.fr")});
  EXPECT_EQ(shorter.code, 1);
  EXPECT_NE(shorter.err.find("a.fr' ends after 1 lines"), std::string::npos) << shorter.err;
  EXPECT_EQ(read_file(at("old.en")), "old\n");
  EXPECT_FALSE(std::filesystem::exists(at("b.fr")));
  const Outcome itself = run_attend({"data", "dedup", "--source", at("a.en"), "--target", at("a.fr"), "--out-source",
                                     at("a.en"), "--out-target", at("b.fr")});
  EXPECT_EQ(itself.code, 1);
  EXPECT_EQ(read_file(at("a.en")), "one\ntwo\n");
  const Outcome unknown = run_attend(
      {"data", "mix", at("a"), "--mix", "tatoeba:2", "--out-source", at("x.en"), "--out-target", at("x.fr")});
  EXPECT_EQ(unknown.code, 1);
  EXPECT_NE(unknown.err.find("there is no corpus 'tatoeba'; those given are: a"), std::string::npos) << unknown.err;
  const Outcome weight =
      run_attend({"data", "mix", at("a"), "--mix", "a:many", "--out-source", at("x.en"), "--out-target", at("x.fr")});
  EXPECT_EQ(weight.code, 1);
}

}  // namespace
}  // namespace attend::test
