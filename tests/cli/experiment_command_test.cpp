// attend experiment on small networks: tables, files, and errors for values that make no sense.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "attend/base/files.h"
#include "attend/base/json.h"
#include "tests/cli/run_attend.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;

using Words = std::vector<std::string>;

struct Experiment {
  std::string name;
  Words small;       // settings that take no time
  std::string said;  // in the table
};

void PrintTo(const Experiment& experiment, std::ostream* out) { *out << experiment.name; }

class Experiments : public testing::TestWithParam<Experiment> {
 protected:
  static Words words(const Words& more) {
    Words all = {"experiment", GetParam().name, "--threads", "1"};
    all.insert(all.end(), GetParam().small.begin(), GetParam().small.end());
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
};

TEST_P(Experiments, PrintATableAndWriteFiles) {
  const fs::path folder = fs::temp_directory_path() / ("attend_experiment_" + std::to_string(getpid()));
  fs::remove_all(folder), fs::create_directories(folder);
  const auto path = [&](const char* name) { return (folder / name).string(); };
  const Outcome outcome = run_attend(words({"--svg", path("a.svg"), "--png", path("a.png"), "--csv", path("a.csv")}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find(GetParam().said), std::string::npos) << outcome.out;
  EXPECT_EQ(read_file(folder / "a.svg").substr(0, 4), "<svg");
  EXPECT_EQ(read_file(folder / "a.png").substr(1, 3), "PNG");
  EXPECT_NE(read_file(folder / "a.csv").find(','), std::string::npos);
  const Outcome json = run_attend(words({"--json"}));
  ASSERT_EQ(json.code, 0) << json.err;
  const Json rows = Json::parse(json.out);
  EXPECT_TRUE(rows.is_array() && !rows.empty());
  fs::remove_all(folder);
}

TEST_P(Experiments, BadValuesEndWithOne) {
  for (const Words& bad : {Words{"--device", "tpu"}, Words{"--dimensions", "0"}, Words{"--svg", "/dev/null/a.svg"}}) {
    const Outcome outcome = run_attend(words(bad));
    EXPECT_EQ(outcome.code, 1) << bad[0];
    EXPECT_NE(outcome.err.find("attend: "), std::string::npos) << outcome.err;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Small, Experiments,
    testing::Values(
        Experiment{"reach", {"--length", "4", "--dimensions", "8"}, "causal self-attention"},
        Experiment{"layers", {"--lengths", "4,8", "--dimensions", "8", "--repeats", "1"}, "n²·d"},
        Experiment{"gradients", {"--length", "9", "--dimensions", "8"}, "tanh RNN"},
        Experiment{"recall", {"--distances", "2,4", "--steps", "2", "--dimensions", "8"}, "chance is 6.2 %"},
        Experiment{
            "speed", {"--lengths", "2,4", "--dimensions", "32", "--batch", "1", "--repeats", "1"}, "3 LSTM layers"}),
    [](const auto& info) { return info.param.name; });

TEST(ExperimentLists, AreNumbersWithCommas) {
  for (const char* list : {"", "0", "4,", "4,x", "-1", "4 8", "1e9"})
    for (const auto& [name, flag] : {std::pair<const char*, const char*>{"recall", "--distances"},
                                     {"layers", "--lengths"},
                                     {"speed", "--lengths"}}) {
      const Outcome outcome = run_attend({"experiment", name, std::string(flag) + "=" + list});
      EXPECT_EQ(outcome.code, 1) << name << " " << list;
      EXPECT_NE(outcome.err.find(flag), std::string::npos) << outcome.err;
    }
}

}  // namespace
}  // namespace attend::test
