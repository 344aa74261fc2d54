#include "attend/cli/support/flags.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <ostream>

#include "attend/base/error.h"
#include "attend/base/fields.h"
#include "attend/base/joined.h"
#include "attend/base/old_names.h"

namespace attend::cli {

struct HelpNotes {
  std::map<const CLI::Option*, std::shared_ptr<Flag::Rules>> rules;
  std::map<const CLI::App*, CommandName> names;
  std::string group = "Commands";
};

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

template <class Number>
constexpr const char* type_name_of() {
  return std::is_floating_point_v<Number> ? "FLOAT" : "INT";
}

// "train", or "data report" of a command in a group; "" of the program itself.
std::string name_in_program(const CLI::App& app) {
  if (!app.get_parent()) return "";
  const std::string group = name_in_program(*app.get_parent());
  return group.empty() ? app.get_name() : group + " " + app.get_name();
}

// The command that the words name, the innermost of a group; the program itself where they name none.
const CLI::App& used_command(const CLI::App& app) {
  const auto used = app.get_subcommands();
  return used.empty() ? app : used_command(*used.back());
}

Words command_names(const CLI::App& app) {
  Words names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

[[noreturn]] void refuse_command(const CLI::App& app, const std::string& word, const std::string& program) {
  const std::string group = name_in_program(app), nearest = nearest_name(word, command_names(app));
  fail("{}there is no command '{}'{} (see {}{} --help)", group.empty() ? "" : group + ": ", word,
       nearest.empty() ? "" : "; did you mean '" + nearest + "'?", program, group.empty() ? "" : " " + group);
}

// The first word that no option of the command takes.
[[noreturn]] void refuse_flag(const CLI::App& command, const std::string& program) {
  std::string word;
  for (const std::string& extra : command.remaining())
    if (word.empty() || (extra.starts_with("-") && !word.starts_with("-"))) word = extra;
  const std::string name = word.substr(0, word.find('=')), whole = name_in_program(command);
  const std::string see = fmt::format("(see {} {} --help)", program, whole);
  if (!word.starts_with("-") && !command_names(command).empty()) refuse_command(command, word, program);
  if (!word.starts_with("-")) fail("{}: there is no place for '{}' {}", whole, word, see);
  Words known;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& each : option->get_lnames()) known.push_back("--" + each);
  const std::string nearest = nearest_name(name, known);
  fail("{}: there is no flag '{}'{} {}", whole, name, nearest.empty() ? "" : "; did you mean '" + nearest + "'?", see);
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

// "folder to write" of "Folder to write."; "COCO file" stays.
std::string as_clause(std::string text) {
  if (text.ends_with('.')) text.pop_back();
  if (text.size() > 1 && !std::isupper(static_cast<unsigned char>(text[1])))
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

// The first thing a command cannot do without and was not given, with what it is.
[[noreturn]] void refuse_missing(const CLI::App& command, const std::string& program) {
  const std::string whole = name_in_program(command), see = fmt::format("(see {} {} --help)", program, whole);
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_required() || option->count() > 0) continue;
    const std::string name = option->get_name(option->get_positional());
    fail("{} needs {}: {} {}", whole, option->get_positional() ? upper(name) : name,
         as_clause(option->get_description()), see);
  }
  fail("{}: something is missing {}", whole, see);
}

// "help" is --help, and "help demo" is "demo --help".
Words without_help_command(const Words& words) {
  if (words.empty() || words.front() != "help") return words;
  Words rest(words.begin() + 1, words.end());
  if (!rest.empty() && rest.front() == "help") rest.clear();
  rest.push_back("--help");
  return rest;
}

bool is_list(const CLI::Option& option) { return option.get_expected_max() == CLI::detail::expected_max_vector_size; }

// " INPUTS...", in brackets where it may be left out.
std::string usage_of(const CLI::Option& argument) {
  const std::string name = upper(argument.get_name(true));
  return (argument.get_required() ? " " + name : " [" + name + "]") + (is_list(argument) ? "..." : "");
}

// Some options are both: attend info en-fr, attend info --model en-fr.
enum class Given { by_place, by_name };

HelpEntry entry_of(const CLI::Option& option, Given given, const HelpNotes& notes) {
  HelpEntry entry;
  if (given == Given::by_place) {
    entry.names = {upper(option.get_name(true))};
  } else {
    for (const std::string& name : option.get_snames()) entry.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) entry.names.push_back("--" + name);
  }
  entry.text = option.get_description();
  entry.group = given == Given::by_place ? "Arguments" : option.get_group();
  entry.required = option.get_required() && (given == Given::by_place || !option.get_positional());
  entry.repeats = is_list(option) && option.get_allow_extra_args();
  if (given == Given::by_name && option.get_type_size() != 0) entry.value = option.get_type_name();
  entry.default_value = option.get_default_str();
  if (const auto rules = notes.rules.find(&option); rules != notes.rules.end()) entry.choices = rules->second->choices;
  for (const CLI::Option* other : option.get_needs()) entry.needs.push_back(other->get_name());
  return entry;
}

HelpPage page_of(const CLI::App& app, const HelpNotes& notes, const std::string& program) {
  const CommandName& name = notes.names.at(&app);
  HelpPage page{.summary = name.help, .usage = program, .examples = examples_from(name.examples)};
  page.topics = name.topics, page.notes = name.notes;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    page.commands.push_back(
        {.names = {command->get_name()}, .group = command->get_group(), .text = command->get_description()});
  if (const std::string whole = name_in_program(app); !whole.empty()) page.usage += " " + whole;
  page.usage += page.commands.empty() ? " [OPTIONS]" : " COMMAND [OPTIONS]";
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      page.usage += usage_of(*option);
      page.arguments.push_back(entry_of(*option, Given::by_place, notes));
    }
    if (!option->get_lnames().empty() && !option->get_group().empty())
      page.flags.push_back(entry_of(*option, Given::by_name, notes));
  }
  return page;
}

}  // namespace

Flag& Flag::required() {
  option_->required();
  return *this;
}

Flag& Flag::one_of(std::vector<std::string> choices) {
  rules_->choices = std::move(choices);
  if (option_->get_type_name() == "TEXT") option_->type_name("NAME");
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

Flag& Flag::takes(const std::string& value) {
  option_->type_name(value);
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

Flag Flags::added(CLI::Option& option, const std::string& name, const Rules& rules) {
  option.multi_option_policy(CLI::MultiOptionPolicy::TakeLast)->group(standard_group(first_name(name)));
  notes_->rules[&option] = rules;
  return {option, rules};
}

Flag Flags::add_value(const std::string& name, const std::string& help, const Value& value) {
  const auto rules = std::make_shared<Flag::Rules>(Flag::Rules{.name = first_name(name)});
  CLI::Option* option = app_->add_option(
      name,
      [rules, set = value.set](const CLI::results_t& words) {
        set(*rules, words);
        if (rules->then) rules->then();
        return true;
      },
      help);
  option->type_name(value.type)->default_str(value.shown);
  return added(*option, name, rules);
}

template <class Number>
Flag Flags::add_number(const std::string& name, Number& value, const std::string& help) {
  return add_value(name, help,
                   {type_name_of<Number>(), fmt::format("{}", value), [&value](const auto& rules, const Words& words) {
                      value = number_from<Number>(rules, words.back());
                    }});
}

template <class Number>
Flag Flags::add_number(const std::string& name, std::optional<Number>& value, const std::string& help) {
  return add_value(
      name, help,
      {type_name_of<Number>(), value ? fmt::format("{}", *value) : "",
       [&value](const auto& rules, const Words& words) { value = number_from<Number>(rules, words.back()); }});
}

Flag Flags::add(const std::string& name, bool& value, const std::string& help) {
  const auto rules = std::make_shared<Flag::Rules>(Flag::Rules{.name = first_name(name)});
  CLI::Option* option = app_->add_flag_function(
      name,
      [rules, &value](std::int64_t count) {
        value = count > 0;
        if (rules->then) rules->then();
      },
      help);
  // Only one that can be turned off has a default worth showing.
  if (name.find("!--no-") != std::string::npos) option->default_str(value ? "on" : "off");
  return added(*option, name, rules);
}

Flag Flags::add(const std::string& name, std::string& value, const std::string& help) {
  return add_value(name, help,
                   {standard_value(first_name(name)), value, [&value](const auto& rules, const Words& words) {
                      check_choice(rules, words.back());
                      value = words.back();
                    }});
}

Flag Flags::add(const std::string& name, std::vector<std::string>& value, const std::string& help) {
  Flag flag =
      add_value(name, help,
                {standard_value(first_name(name)), joined(value, " "), [&value](const auto& rules, const Words& words) {
                   for (const std::string& word : words) check_choice(rules, word);
                   value = words;
                 }});
  app_->get_option(first_name(name))
      ->expected(CLI::detail::expected_max_vector_size)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return flag;
}

Flag Flags::add(const std::string& name, int& value, const std::string& help) { return add_number(name, value, help); }
Flag Flags::add(const std::string& name, std::int64_t& value, const std::string& help) {
  return add_number(name, value, help);
}
Flag Flags::add(const std::string& name, std::uint64_t& value, const std::string& help) {
  return add_number(name, value, help);
}
Flag Flags::add(const std::string& name, float& value, const std::string& help) {
  return add_number(name, value, help);
}
Flag Flags::add(const std::string& name, double& value, const std::string& help) {
  return add_number(name, value, help);
}
Flag Flags::add(const std::string& name, std::optional<int>& value, const std::string& help) {
  return add_number(name, value, help);
}
Flag Flags::add(const std::string& name, std::optional<double>& value, const std::string& help) {
  return add_number(name, value, help);
}

bool Flags::has(const std::string& name) const { return app_->get_option_no_throw(name) != nullptr; }

Flags Flags::command(const CommandName& name, std::function<void()> run) {
  CLI::App* command = app_->add_subcommand(name.name, name.help);
  command->group(app_->get_parent() ? "Commands" : notes_->group);  // those of a group are under one heading
  command->callback(std::move(run));
  notes_->names[command] = name;
  if (CLI::Option* help = command->get_help_ptr()) help->group(standard_group("--help"));
  return Flags(*command, *notes_);
}

Flags Flags::command_group(const CommandName& name) {
  Flags group = command(name, {});
  group.app_->require_subcommand(0, 1);
  return group;
}

void Flags::begin_group(const std::string& heading) { notes_->group = heading; }

CommandLine::CommandLine(const CommandName& name, std::function<std::string()> version)
    : notes_(std::make_unique<HelpNotes>()), app_(std::make_unique<CLI::App>(name.help, name.name)) {
  notes_->names[app_.get()] = name;
  app_->set_help_flag("-h,--help", "Print help.")->group(standard_group("--help"));
  app_->set_version_flag("--version", std::move(version), "Print the version.")->group(standard_group("--version"));
  app_->require_subcommand(0, 1);
}

CommandLine::~CommandLine() = default;

void CommandLine::run(const std::vector<std::string>& given, std::ostream& out, HelpStyle style) {
  Words words = without_help_command(given);
  std::ranges::transform(words, words.begin(), with_current_name);
  if (const auto json = std::ranges::find(words, "--help-json"); json != words.end()) {
    *json = "--help";
    style.as_json = true;
  }
  const bool named = !words.empty() && !words.front().starts_with('-');
  const Words commands = command_names(*app_);
  if (named && std::ranges::find(commands, words.front()) == commands.end())
    refuse_command(*app_, words.front(), app_->get_name());
  const auto print_help = [&](const CLI::App& app) {
    out << help_text(page_of(app, *notes_, app_->get_name()), style);
  };
  try {
    app_->parse(std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 takes words from the back
    if (const CLI::App& used = used_command(*app_); !command_names(used).empty()) print_help(used);
  } catch (const CLI::ParseError& error) {
    const CLI::App& used = used_command(*app_);
    // --help and --version come as exceptions too, with exit code 0.
    if (dynamic_cast<const CLI::CallForHelp*>(&error)) return print_help(used);
    if (error.get_exit_code() == 0) {
      app_->exit(error, out, out);
      return;
    }
    const std::string whole = name_in_program(used);
    const auto is = [&](CLI::ExitCodes code) { return error.get_exit_code() == static_cast<int>(code); };
    if (is(CLI::ExitCodes::ExtrasError) && !whole.empty()) refuse_flag(used, app_->get_name());
    if (is(CLI::ExitCodes::ExtrasError)) fail("there is no flag '{}' (see {} --help)", words.front(), app_->get_name());
    if (is(CLI::ExitCodes::RequiredError) && !whole.empty()) refuse_missing(used, app_->get_name());
    fail("{} (see {}{} --help)", error.what(), app_->get_name(), whole.empty() ? "" : " " + whole);
  }
}

}  // namespace attend::cli
