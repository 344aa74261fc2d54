// attend data clean, dedup, split and mix.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

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
