#include "attend/cli/support/flags.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <ostream>
#include <sstream>

#include "attend/base/error.h"
#include "attend/base/fields.h"
#include "attend/base/joined.h"
#include "attend/base/old_names.h"

namespace attend::cli {

namespace {

using Words = std::vector<std::string>;
using Rules = std::shared_ptr<Flag::Rules>;

// Caught in CommandLine::run, which adds where the help is.
template <class... Arguments>
[[noreturn]] void refuse(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  throw CLI::ValidationError(fmt::format(format, std::forward<Arguments>(arguments)...));
}

// "a, b or c"
std::string alternatives(const Words& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return text;
}

void check_choice(const Flag::Rules& rules, const std::string& word) {
  if (rules.choices.empty() || std::find(rules.choices.begin(), rules.choices.end(), word) != rules.choices.end())
    return;
  refuse("{} takes {}, not '{}'", rules.name, alternatives(rules.choices), word);
}

// 10000000, not 1e+07; 0.5.
std::string number_text(double number) {
  return number == std::trunc(number) && std::abs(number) < 1e15 ? fmt::format("{:.0f}", number)
                                                                 : fmt::format("{:g}", number);
}

template <class Number>
Number number_from(const Flag::Rules& rules, const std::string& word) {
  Number number{};
  const char* begin = word.data() + (word.starts_with('+') ? 1 : 0);
  const auto [end, error] = std::from_chars(begin, word.data() + word.size(), number);
  const bool whole = std::is_integral_v<Number>;
  bool good = end == word.data() + word.size() && error != std::errc::invalid_argument;
  if constexpr (!whole) good = good && std::isfinite(number);
  if (!good) refuse("{} takes a {}number, not '{}'", rules.name, whole ? "whole " : "", word);
  if (error == std::errc::result_out_of_range) refuse("{}: {} is out of range", rules.name, word);
  if (rules.range && !(number >= rules.range->first && number <= rules.range->second))
    refuse("{} takes {} to {}, not {}", rules.name, number_text(rules.range->first), number_text(rules.range->second),
           word);
  return number;
}

// "--steps" of "--steps", "--x" of "--x,!--no-x".
std::string first_name(const std::string& names) { return names.substr(0, names.find(',')); }

struct Value {
  const char* type;
  std::string shown;  // the default
};

// set(rules, words) fills the variable.
template <class Set>
Flag add_value(CLI::App& app, const std::string& name, const std::string& help, const Value& value, Set set) {
  const auto rules = std::make_shared<Flag::Rules>(Flag::Rules{.name = first_name(name)});
  CLI::Option* option = app.add_option(
      name,
      [rules, set](const CLI::results_t& words) {
        set(*rules, words);
        if (rules->then) rules->then();
        return true;
      },
      help);
  option->type_name(value.type)->default_str(value.shown)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  return {*option, rules};
}

template <class Number>
constexpr const char* type_name_of() {
  return std::is_floating_point_v<Number> ? "FLOAT" : std::is_signed_v<Number> ? "INT" : "UINT";
}

template <class Number>
Flag add_number(CLI::App& app, const std::string& name, Number& value, const std::string& help) {
  return add_value(
      app, name, help, {type_name_of<Number>(), fmt::format("{}", value)},
      [&value](const Flag::Rules& rules, const Words& words) { value = number_from<Number>(rules, words.back()); });
}

template <class Number>
Flag add_number(CLI::App& app, const std::string& name, std::optional<Number>& value, const std::string& help) {
  return add_value(
      app, name, help, {type_name_of<Number>(), value ? fmt::format("{}", *value) : ""},
      [&value](const Flag::Rules& rules, const Words& words) { value = number_from<Number>(rules, words.back()); });
}

// The first word that no option of the command takes.
[[noreturn]] void refuse_flag(const CLI::App& command, const std::string& program) {
  std::string word;
  for (const std::string& extra : command.remaining())
    if (word.empty() || (extra.starts_with("-") && !word.starts_with("-"))) word = extra;
  const std::string name = word.substr(0, word.find('='));
  const std::string see = fmt::format("(see {} {} --help)", program, command.get_name());
  if (!word.starts_with("-")) fail("{}: there is no place for '{}' {}", command.get_name(), word, see);
  Words known;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& each : option->get_lnames()) known.push_back("--" + each);
  const std::string nearest = nearest_name(name, known);
  fail("{}: there is no flag '{}'{} {}", command.get_name(), name,
       nearest.empty() ? "" : "; did you mean '" + nearest + "'?", see);
}

Words command_names(const CLI::App& app) {
  Words names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

// The first thing a command cannot do without and was not given, with what it is.
[[noreturn]] void refuse_missing(const CLI::App& command, const std::string& program) {
  const std::string see = fmt::format("(see {} {} --help)", program, command.get_name());
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_required() || option->count() > 0) continue;
    std::string name = option->get_name(option->get_positional());
    if (option->get_positional())
      std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
    fail("{} needs {}: {} {}", command.get_name(), name, option->get_description(), see);
  }
  fail("{}: something is missing {}", command.get_name(), see);
}

[[noreturn]] void refuse_command(const CLI::App& app, const std::string& word) {
  const std::string nearest = nearest_name(word, command_names(app));
  fail("there is no command '{}'{} (see {} --help)", word, nearest.empty() ? "" : "; did you mean '" + nearest + "'?",
       app.get_name());
}

// "help" is --help, and "help demo" is "demo --help".
Words without_help_command(const Words& words) {
  if (words.empty() || words.front() != "help") return words;
  Words rest(words.begin() + 1, words.end());
  if (!rest.empty() && rest.front() == "help") rest.clear();
  rest.push_back("--help");
  return rest;
}

// All of --help is laid out here: what CLI11 prints changes with its versions ("INT=3" in one, "INT [3]" in another).
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    std::string text = app->get_description() + "\n" + make_usage(app, std::move(name)) + make_positionals(app) +
                       make_groups(app, mode) + make_subcommands(app, mode);
    if (const std::string footer = app->get_footer(); !footer.empty()) text += "\n" + footer + "\n";
    return text;
  }
  std::string make_option(const CLI::Option* option, bool positional) const override {
    return columns(make_option_name(option, positional) + make_option_opts(option), option->get_description());
  }
  std::string make_subcommand(const CLI::App* command) const override {
    return columns(command->get_name(), command->get_description());
  }
  // CLI11 has "--x,--no-x{false}".
  std::string make_option_name(const CLI::Option* option, bool positional) const override {
    std::string name = CLI::Formatter::make_option_name(option, positional);
    if (const std::size_t at = name.find("{false}"); at != std::string::npos) name.erase(at, 7);
    return name;
  }
  // " INT=3 ... REQUIRED Needs: --sample"
  std::string make_option_opts(const CLI::Option* option) const override {
    std::string text;
    if (option->get_type_size() != 0) {
      if (!option->get_type_name().empty()) text += " " + option->get_type_name();
      if (!option->get_default_str().empty()) text += "=" + option->get_default_str();
      if (option->get_expected_max() == CLI::detail::expected_max_vector_size) text += " ...";
      if (option->get_required()) text += " REQUIRED";
    }
    if (!option->get_needs().empty()) text += " Needs:";
    for (const CLI::Option* other : option->get_needs()) text += " " + other->get_name();
    return text;
  }

 private:
  static std::string columns(const std::string& name, const std::string& help) {
    constexpr std::size_t kWidth = 34;
    std::string text = "  " + name;
    if (!help.empty() && text.size() >= kWidth) text += "\n" + std::string(kWidth, ' ');
    if (!help.empty() && text.size() < kWidth) text.resize(kWidth, ' ');
    for (const char letter : help) text += letter == '\n' ? "\n" + std::string(kWidth, ' ') : std::string(1, letter);
    return text + "\n";
  }
};

// What an example does becomes a comment behind it, so that the whole line can be pasted: "  attend demo     # shows
// ..".
std::string with_comments(const std::string& examples) {
  std::string text;
  std::istringstream lines(examples);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t gap = line.starts_with("  ") ? line.find("  ", line.find_first_not_of(' ')) : std::string::npos;
    const bool command = line.starts_with("  attend ") || line.find(" | attend ") != std::string::npos;
    if (command && gap != std::string::npos) line.insert(line.find_first_not_of(' ', gap), "# ");
    text += (text.empty() ? "" : "\n") + line;
  }
  return text;
}

}  // namespace

Flag& Flag::required() {
  option_->required();
  return *this;
}

Flag& Flag::one_of(std::vector<std::string> choices) {
  rules_->choices = std::move(choices);
  return *this;
}

Flag& Flag::between(double least, double most) {
  rules_->range = {least, most};
  return *this;
}

Flag& Flag::needs(const Flag& other) {
  option_->needs(other.option_);
  return *this;
}

Flag& Flag::shown_as(const std::string& text) {
  option_->default_str(text);
  return *this;
}

Flag& Flag::group(const std::string& heading) {
  option_->group(heading);
  return *this;
}

Flag& Flag::one_at_a_time() {
  option_->allow_extra_args(false);
  return *this;
}

Flag& Flag::then(std::function<void()> function) {
  rules_->then = std::move(function);
  return *this;
}

Flag Flags::add(const std::string& name, bool& value, const std::string& help) {
  const auto rules = std::make_shared<Flag::Rules>(Flag::Rules{.name = first_name(name)});
  CLI::Option* option = app_->add_flag_function(
      name,
      [rules, &value](std::int64_t count) {
        value = count > 0;
        if (rules->then) rules->then();
      },
      name.find("!--no-") == std::string::npos ? help : fmt::format("{} [{}]", help, value ? "on" : "off"));
  option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  return {*option, rules};
}

Flag Flags::add(const std::string& name, std::string& value, const std::string& help) {
  return add_value(*app_, name, help, {"TEXT", value}, [&value](const Flag::Rules& rules, const Words& words) {
    check_choice(rules, words.back());
    value = words.back();
  });
}

Flag Flags::add(const std::string& name, std::vector<std::string>& value, const std::string& help) {
  const std::string shown = value.empty() ? "" : fmt::format("[{}]", joined(value, ","));
  Flag flag = add_value(*app_, name, help, {"TEXT", shown}, [&value](const Flag::Rules& rules, const Words& words) {
    for (const std::string& word : words) check_choice(rules, word);
    value = words;
  });
  app_->get_option(first_name(name))
      ->expected(CLI::detail::expected_max_vector_size)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return flag;
}

Flag Flags::add(const std::string& name, int& value, const std::string& help) {
  return add_number(*app_, name, value, help);
}
Flag Flags::add(const std::string& name, std::int64_t& value, const std::string& help) {
  return add_number(*app_, name, value, help);
}
Flag Flags::add(const std::string& name, std::uint64_t& value, const std::string& help) {
  return add_number(*app_, name, value, help);
}
Flag Flags::add(const std::string& name, float& value, const std::string& help) {
  return add_number(*app_, name, value, help);
}
Flag Flags::add(const std::string& name, double& value, const std::string& help) {
  return add_number(*app_, name, value, help);
}
Flag Flags::add(const std::string& name, std::optional<int>& value, const std::string& help) {
  return add_number(*app_, name, value, help);
}
Flag Flags::add(const std::string& name, std::optional<double>& value, const std::string& help) {
  return add_number(*app_, name, value, help);
}

bool Flags::has(const std::string& name) const { return app_->get_option_no_throw(name) != nullptr; }

Flags Flags::command(const CommandName& name, std::function<void()> run) {
  CLI::App* command = app_->add_subcommand(name.name, name.help);
  if (!name.examples.empty()) command->footer(with_comments(name.examples));
  command->callback(std::move(run));
  return Flags(*command);
}

CommandLine::CommandLine(const CommandName& name, std::function<std::string()> version)
    : app_(std::make_unique<CLI::App>(name.help, name.name)) {
  app_->footer(with_comments(name.examples));
  app_->set_version_flag("--version", std::move(version));
  app_->require_subcommand(0, 1);
  app_->formatter(std::make_shared<HelpFormatter>());
}

CommandLine::~CommandLine() = default;

void CommandLine::run(const std::vector<std::string>& given, std::ostream& out) {
  Words words = without_help_command(given);
  std::ranges::transform(words, words.begin(), with_current_name);
  const bool named = !words.empty() && !words.front().starts_with('-');
  const Words commands = command_names(*app_);
  if (named && std::ranges::find(commands, words.front()) == commands.end()) refuse_command(*app_, words.front());
  try {
    app_->parse(std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 takes words from the back
    if (app_->get_subcommands().empty()) out << app_->help();
  } catch (const CLI::ParseError& error) {
    // --help and --version come as exceptions too, with exit code 0.
    if (error.get_exit_code() == 0) {
      app_->exit(error, out, out);
      return;
    }
    const auto used = app_->get_subcommands();
    const auto is = [&](CLI::ExitCodes code) { return error.get_exit_code() == static_cast<int>(code); };
    if (is(CLI::ExitCodes::ExtrasError) && !used.empty()) refuse_flag(*used.front(), app_->get_name());
    if (is(CLI::ExitCodes::ExtrasError)) fail("there is no flag '{}' (see {} --help)", words.front(), app_->get_name());
    if (is(CLI::ExitCodes::RequiredError) && !used.empty()) refuse_missing(*used.front(), app_->get_name());
    fail("{} (see {}{} --help)", error.what(), app_->get_name(), used.empty() ? "" : " " + used.front()->get_name());
  }
}

}  // namespace attend::cli
