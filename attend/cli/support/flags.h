// Names on the command line and the variables they fill: a thin layer over CLI11, whose templates take 5 to 15 s a file
// to compile and are therefore seen by flags.cpp alone. A default is shown in --help unless it is empty.
//
//   flags.add("--steps", options.steps, "training steps").between(1, 1000);
//   flags.add("--task", options.task, "what to learn").one_of({"reverse", "sort"});
//   flags.add("--json", options.json, "one JSON object a line");                  a bool is a flag without a value
//   flags.add("files", options.files, "text, one sentence a line").required();    no dashes: by its place
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace attend::cli {

// What one flag demands. Each call adds to it; a value that breaks a rule is named in an error with what is taken.
class Flag {
 public:
  struct Rules {
    std::string name;
    std::vector<std::string> choices = {};
    std::optional<std::pair<double, double>> range = {};
    std::function<void()> then = {};
  };
  Flag(CLI::Option& option, std::shared_ptr<Rules> rules) : option_(&option), rules_(std::move(rules)) {}

  Flag& required();
  Flag& one_of(std::vector<std::string> choices);
  Flag& between(double least, double most);
  Flag& needs(const Flag& other);
  Flag& shown_as(const std::string& text);  // the default in --help
  Flag& group(const std::string& heading);  // in --help; "": it is not shown there
  // A list that takes one value each time it is given, not all that follow.
  Flag& one_at_a_time();
  // Called after the variable was set from the command line.
  Flag& then(std::function<void()> function);

 private:
  CLI::Option* option_;
  std::shared_ptr<Rules> rules_;
};

struct CommandName {
  std::string name, help;
  std::string examples = {};  // printed under the flags in --help
};

// The flags of a program or of one command of it. A number or text given twice counts as given last.
class Flags {
 public:
  explicit Flags(CLI::App& app) : app_(&app) {}

  Flag add(const std::string& name, bool& value, const std::string& help);  // "--x,!--no-x": can be turned off
  Flag add(const std::string& name, std::string& value, const std::string& help);
  Flag add(const std::string& name, std::vector<std::string>& value, const std::string& help);
  Flag add(const std::string& name, int& value, const std::string& help);
  Flag add(const std::string& name, std::int64_t& value, const std::string& help);
  Flag add(const std::string& name, std::uint64_t& value, const std::string& help);
  Flag add(const std::string& name, float& value, const std::string& help);
  Flag add(const std::string& name, double& value, const std::string& help);
  Flag add(const std::string& name, std::optional<int>& value, const std::string& help);
  Flag add(const std::string& name, std::optional<double>& value, const std::string& help);

  // A value that has a name: add("--pooling", options.pooling, {{"mean", Pooling::mean}, ..}, help).
  template <class Enum>
  Flag add(const std::string& name, Enum& value, const std::vector<std::pair<std::string, Enum>>& names,
           const std::string& help) {
    auto text = std::make_shared<std::string>();
    std::vector<std::string> choices;
    for (const auto& [choice, meaning] : names) {
      choices.push_back(choice);
      if (meaning == value) *text = choice;
    }
    Flag flag = add(name, *text, help);
    flag.one_of(std::move(choices)).then([&value, names, text] {
      for (const auto& [choice, meaning] : names)
        if (choice == *text) value = meaning;
    });
    return flag;
  }

  bool has(const std::string& name) const;
  // A command with flags of its own; run is called once they are parsed.
  Flags command(const CommandName& name, std::function<void()> run);

 private:
  CLI::App* app_;
};

// The program's name and its commands.
class CommandLine {
 public:
  CommandLine(const CommandName& name, std::function<std::string()> version);
  ~CommandLine();

  Flags flags() { return Flags(*app_); }
  // Parses the words and runs the command they name. Help (--help, or "help" in front) and the version go to out.
  // Throws Error when the words make no sense, with the nearest name that does, and whatever the command throws.
  void run(const std::vector<std::string>& given, std::ostream& out);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace attend::cli
