// Commands that attend prints run when somebody pastes them: those at the end of a run of every task and of every
// recipe of recipes/minutes, behind data that was made, and where a run was stopped. A real shell runs them.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/cli/support/shell_word.h"
#include "attend/tasks/labelled_tasks.h"
#include "attend/train/recipes/trainings.h"
#include "tests/cli/run_attend.h"
#include "tests/train/recipes/folder_bytes.h"
#include "tests/train/recipes/toy_tasks.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;

// build/tests/train_test -> build
fs::path build_folder() { return fs::read_symlink("/proc/self/exe").parent_path().parent_path(); }

// The lines that are commands. That a line which names the program is one is part of the test.
std::vector<std::string> commands_in(const std::string& output) {
  std::vector<std::string> commands;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("attend ") == std::string::npos) continue;
    if (line.find("learned to attend to") != std::string::npos || line.find("trained by attend") != std::string::npos)
      continue;
    EXPECT_TRUE(line.starts_with("  attend ") || line.find(" | attend ") != std::string::npos) << line;
    commands.push_back(line.substr(2));
  }
  return commands;
}

class PrintedCommands : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(build_folder() / "attend")) GTEST_SKIP() << "the program is not built";
    if (std::getenv("ATTEND_EMULATOR")) GTEST_SKIP() << "a shell runs programs of its own machine";
    folder_ = scratch_folder("attend printed");  // a name that needs quotes
    fs::create_directories(folder_);
    fs::create_directory_symlink(fs::current_path() / "recipes", folder_ / "recipes");
    fs::create_directory_symlink(fs::current_path() / "models", folder_ / "models");
  }
  void TearDown() override { fs::remove_all(folder_); }

  // What the command says; of one that goes on until it is stopped its first line.
  std::string pasted(const std::string& command, int* code) const {
    const bool serves = command.find("attend look") != std::string::npos;
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) return "no pipe";
    const pid_t child = fork();
    if (child == 0) {
      setpgid(0, 0);
      dup2(ends[1], 1), dup2(ends[1], 2);
      close(ends[0]), close(ends[1]);
      const std::string all = "cd " + cli::shell_word(folder_.string()) +
                              " && PATH=" + cli::shell_word(build_folder().string()) + ":$PATH && " + command +
                              (serves ? " --port 0" : "") + " </dev/null";
      execl("/bin/sh", "sh", "-c", all.c_str(), nullptr);
      _exit(127);
    }
    close(ends[1]);
    std::string said;
    std::array<char, 4096> buffer{};
    for (ssize_t count; (count = read(ends[0], buffer.data(), buffer.size())) > 0;) {
      said.append(buffer.data(), static_cast<std::size_t>(count));
      if (serves && said.find("http://") != std::string::npos && said.back() == '\n') break;
    }
    if (serves) kill(-child, SIGTERM);
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    const bool served = serves && said.find("http://") != std::string::npos;
    *code = served ? 0 : WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return said;
  }
  std::string pasted_once(const std::string& command) const {
    int code = -1;
    std::string said = pasted(command, &code);
    EXPECT_EQ(code, 0) << command << ": " << said;
    return said;
  }
  // Returns what it said. Short: a run that would take minutes does two steps.
  std::string run(const std::string& command) const {
    int code = -1;
    const bool trains = command.starts_with("attend train ");
    std::string said = pasted(command + (trains ? " --steps 2 --validate-every 2 --overwrite" : ""), &code);
    EXPECT_EQ(code, 0) << command << ": " << said;
    return said;
  }
  void run_all(const std::string& output) const {
    const std::vector<std::string> commands = commands_in(output);
    EXPECT_FALSE(commands.empty()) << output;
    for (const std::string& command : commands) run(command);
  }

  fs::path folder_;
};

class PrintedByTasks : public PrintedCommands, public testing::WithParamInterface<std::string_view> {};

std::vector<std::string_view> all_tasks() {
  std::vector<std::string_view> names;
  for (const train::TrainedTask& task : train::trained_tasks()) names.push_back(task.name);
  return names;
}

TEST_P(PrintedByTasks, Run) {
  const std::string task(GetParam());
  Words words = toy_task(folder_, task, folder_ / "my run");
  const std::vector<std::pair<std::string, Words>> shapes = {
      {"translation", kTransformer}, {"language-model", kGpt},          {"masked-lm", kBert},
      {"classify-images", kVit},     {"detect", kDetr + kDetrBackbone}, {"describe", kShowTell + kVit}};
  for (const auto& [name, shape] : shapes)
    if (task == name) words = words + shape;
  if (tasks::labelled_task(task)) {
    ASSERT_EQ(run_attend(toy_task(folder_, "masked-lm", folder_ / "bert") + kBert).code, 0);
    words = words + Words{"--from", (folder_ / "bert").string()};
  }
  const Outcome trained = run_attend(words);
  ASSERT_EQ(trained.code, 0) << trained.err;
  run_all(trained.out);
}

INSTANTIATE_TEST_SUITE_P(Tasks, PrintedByTasks, testing::ValuesIn(all_tasks()), [](const auto& info) {
  std::string name(info.param);
  std::erase(name, '-');
  return name;
});

class PrintedByRecipes : public PrintedCommands, public testing::WithParamInterface<const char*> {};

// The data as the recipe says it is made, only less of it.
TEST_P(PrintedByRecipes, Run) {
  const Json recipe = read_json(fs::path("recipes/minutes") / (std::string(GetParam()) + ".json"));
  const std::string data = recipe.at("data").get<std::string>();
  run(data.substr(data.find("attend make-data")) + " --count 200 --unseen 20");
  run_all(run(std::string("attend train recipes/minutes/") + GetParam() + ".json"));
}

INSTANTIATE_TEST_SUITE_P(Minutes, PrintedByRecipes,
                         testing::Values("dates-rnn-attention", "dates-rnn-plain", "dates-transformer", "grammar-gpt",
                                         "grammar-bert", "bert-pairs", "bert-questions", "bert-tags"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST_F(PrintedCommands, OfMadeDataRun) {
  const std::string small = " --width 16 --heads 2", pairs = small + " --hidden 16 --tokens 64";
  for (const std::string what : {"dates", "numbers", "reverse", "grammar", "recall", "stories", "scenes"}) {
    const std::string less = what == "stories"  ? " --batch 2"
                             : what == "scenes" ? small + " --hidden 16 --image-size 32 --batch 2"
                             : what == "recall" ? small + " --layers 1 --batch 2 --block 16"
                                                : pairs;
    const std::string made = run("attend make-data " + what + " --out 'some data' --count 40 --unseen 8");
    const std::vector<std::string> commands = commands_in(made);
    ASSERT_EQ(commands.size(), 1u) << made;
    run(commands[0] + less);
    fs::remove_all(folder_ / "some data");
  }
}

// A run whose settings were chosen, of a table whose name needs quotes.
TEST_F(PrintedCommands, OfAnAutomaticRunRun) {
  std::string table = "en,fr\n";
  for (int i = 0; i < 60; ++i) table += "one two " + std::to_string(i) + ",un deux " + std::to_string(i) + "\n";
  write_file(folder_ / "my pairs.csv", table);
  const std::string said = pasted_once("attend train 'my pairs.csv' --out 'my run' --minutes 0.01");
  EXPECT_NE(said.find("attend look --model 'my run'"), std::string::npos) << said;
  run_all(said.substr(said.find("To use it:")));  // a fast machine stops early
}

// One that is on no PATH is called by its own.
TEST_F(PrintedCommands, AreOfTheProgramThatWasCalled) {
  const std::string program = cli::shell_word((build_folder() / "attend").string());
  const std::string made = run(program + " make-data reverse --out x --count 20 --unseen 4");
  EXPECT_NE(made.find("\n  " + program + " train --source x/train.src"), std::string::npos) << made;
  EXPECT_EQ(cli::called_as("build/attend", "To see it:\n  attend look\n  echo 'a' | attend fill\nwhat to attend to"),
            "To see it:\n  build/attend look\n  echo 'a' | build/attend fill\nwhat to attend to");
}

TEST_F(PrintedCommands, OfDemosRun) {
  for (const char* task : {"translate", "detect", "describe"}) run_all(run("attend demo --task " + std::string(task)));
}

// A recipe is about its data and its model: with others it says nothing of them.
TEST_F(PrintedCommands, AReusedRecipeKeepsItsWordsToItself) {
  run("attend make-data dates --out .data/dates --count 60 --unseen 8");
  run("attend make-data reverse --out mine --count 60 --unseen 8");
  const std::string recipe = "attend train recipes/minutes/dates-rnn-attention.json";
  const std::string elsewhere = run(recipe + " --out 'my dates'");
  EXPECT_NE(elsewhere.find("attend translate --model 'my dates' --show-attention"), std::string::npos) << elsewhere;
  EXPECT_EQ(elsewhere.find("runs/dates-rnn-attention"), std::string::npos) << elsewhere;
  const std::string other =
      run(recipe +
          " --out other --source mine/train.src --target mine/train.tgt --valid-source mine/valid.src "
          "--valid-target mine/valid.tgt --test-source mine/test.src --test-target mine/test.tgt");
  EXPECT_EQ(other.find("1987"), std::string::npos) << other;
  EXPECT_NE(other.find("  attend look --run other\n"), std::string::npos) << other;
  EXPECT_EQ(read_json(folder_ / "other/recipe.json").at("then"), Json::array());
  // And so does the run that it wrote.
  const std::string again = run("attend train other/recipe.json --out again");
  EXPECT_EQ(again.find("1987"), std::string::npos) << again;
}

TEST(ShellWord, IsOneWordOfAShell) {
  EXPECT_EQ(cli::shell_word("runs/dates-1.2"), "runs/dates-1.2");
  EXPECT_EQ(cli::shell_word("my run"), "'my run'");
  EXPECT_EQ(cli::shell_word("it's"), R"('it'\''s')");
  EXPECT_EQ(cli::shell_word(""), "''");
  EXPECT_EQ(cli::with_word("attend look --model {out} --text {out}", "{out}", "{out} x"),
            "attend look --model '{out} x' --text '{out} x'");
}

}  // namespace
}  // namespace attend::test
