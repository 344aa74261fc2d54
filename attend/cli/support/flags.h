// Names on the command line and the variables they fill: a thin layer over CLI11, whose templates take 5 to 15 s a file
// to compile and are therefore seen by flags.cpp alone. --help shows each flag with its default, unless that is empty,
// and its choices (help_page.h).
//
//   flags.add("--steps", options.steps, "Training steps.").between(1, 1000);
//   flags.add("--task", options.task, "Task to train.").one_of({"reverse", "sort"});
//   flags.add("--json", options.json, "Print one JSON object per line.");         a bool is a flag without a value
//   flags.add("files", options.files, "Text, one sentence per line.").required(); no dashes: by its place
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attend/cli/support/help_page.h"

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
  Flag& takes(const std::string& value);    // the name of its value in --help, where it is not standard_value()
  // The heading in --help, where it is not standard_group(); "": the flag is not shown there.
  Flag& group(const std::string& heading);
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
  std::string examples = {};            // one per line, a comment after " # "; the three most useful first
  std::vector<std::string> notes = {};  // paragraphs at the end of --help
  std::vector<HelpEntry> topics = {};   // a list in front of the flags
};

// What --help shows and CLI11 does not keep.
struct HelpNotes;

// The flags of a program or of one command of it. A number or text given twice counts as given last.
class Flags {
 public:
  Flags(CLI::App& app, HelpNotes& notes) : app_(&app), notes_(&notes) {}

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
  // A command that is only the first word of others, "data" of "data report": command() of what it returns adds those.
  // Named alone it prints its help.
  Flags command_group(const CommandName& name);
  // The heading in --help of the commands that are added from here on.
  void begin_group(const std::string& heading);

 private:
  struct Value {
    std::string type;
    std::string shown;                                                                   // the default
    std::function<void(const Flag::Rules&, const std::vector<std::string>& words)> set;  // fills the variable
  };
  Flag add_value(const std::string& name, const std::string& help, const Value& value);
  template <class Number>
  Flag add_number(const std::string& name, Number& value, const std::string& help);
  template <class Number>
  Flag add_number(const std::string& name, std::optional<Number>& value, const std::string& help);
  Flag added(CLI::Option& option, const std::string& name, const std::shared_ptr<Flag::Rules>& rules);

  CLI::App* app_;
  HelpNotes* notes_;
};

// The program's name and its commands.
class CommandLine {
 public:
  CommandLine(const CommandName& name, std::function<std::string()> version);
  ~CommandLine();

  Flags flags() { return Flags(*app_, *notes_); }
  // Parses the words and runs the command they name. Help (--help, or "help" in front) and the version go to out.
  // --help-json, which no help shows, prints the page of --help as JSON (HelpPage).
  // Throws Error when the words make no sense, with the nearest name that does, and whatever the command throws.
  void run(const std::vector<std::string>& given, std::ostream& out, HelpStyle style = {});

 private:
  std::unique_ptr<HelpNotes> notes_;
  std::unique_ptr<CLI::App> app_;
};

}  // namespace attend::cli
