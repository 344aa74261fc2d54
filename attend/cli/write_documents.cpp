#include "attend/cli/write_documents.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/joined.h"
#include "attend/cli/program.h"
#include "attend/cli/support/command.h"
#include "attend/cli/support/command_files.h"
#include "attend/cli/support/train_tasks.h"

namespace attend::cli {

namespace {

constexpr std::size_t kTextColumn = 34;  // where --help explains an entry (flags.cpp)

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::string without_spaces(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string_view::npos ? "" : std::string(text.substr(begin, text.find_last_not_of(' ') + 1 - begin));
}

// "  --beams INT=4                 beginnings kept", of which the explanation may be on the next line.
HelpEntry entry_of(std::string_view line) {
  const std::string_view body = line.substr(2);
  std::size_t end = body.find("  ");
  if (line.size() > kTextColumn && line[kTextColumn - 1] == ' ') end = std::min(end, kTextColumn - 2);
  const std::string left = without_spaces(body.substr(0, end));
  const std::size_t name_end = std::min(left.find(' '), left.size());
  std::string value = without_spaces(std::string_view(left).substr(name_end));
  value = value.substr(0, value.find(" Needs:"));
  value = value.substr(0, value.find(" REQUIRED"));
  if (value.starts_with("Needs:") || value == "REQUIRED") value.clear();
  return {left.substr(0, name_end), value, end < body.size() ? without_spaces(body.substr(end)) : ""};
}

HelpPage help_of(const std::vector<std::string>& words) {
  std::istringstream in;
  std::ostringstream out, err;
  const int code = run_program(words, {.in = in, .out = out, .err = err});
  check(code == 0, "help: '{}' has none: {}", joined(words, " "), err.str());
  return read_help(out.str());
}

// The help of attend train has what all tasks share; what some have, each with defaults of its own, goes behind it.
void add_flags_of_tasks(HelpPage& page) {
  const std::size_t shared = page.flags.size();
  std::vector<std::string> whose;  // of those behind
  for (const TrainedTask& task : trained_tasks())
    for (const HelpEntry& flag : help_of({"train", "--task", std::string(task.name), "--help"}).flags) {
      const auto found = std::ranges::find(page.flags, flag.name, &HelpEntry::name);
      const auto at = static_cast<std::size_t>(found - page.flags.begin());
      if (at < shared) continue;
      if (found == page.flags.end()) {
        page.flags.push_back({flag.name, flag.value.substr(0, flag.value.find('=')), flag.text});
        whose.emplace_back(task.name);
      } else {
        whose[at - shared] += ", " + std::string(task.name);
      }
    }
  for (std::size_t i = 0; i < whose.size(); ++i) page.flags[shared + i].text += fmt::format(" (--task {})", whose[i]);
}

struct Documented {
  std::string name;
  HelpPage page;
};
std::vector<Documented> documented_commands() {
  std::vector<Documented> pages;
  for (const HelpEntry& command : help_of({"--help"}).commands) {
    pages.push_back({command.name, help_of({"help", command.name})});
    if (command.name == "train") add_flags_of_tasks(pages.back().page);
  }
  return pages;
}

std::vector<std::string> names_of(const HelpEntry& flag) {
  std::vector<std::string> names;
  std::istringstream parts(flag.name);
  for (std::string name; std::getline(parts, name, ',');) names.push_back(name);
  return names;
}

std::string bash_completions() {
  std::string commands, cases;
  for (const Documented& command : documented_commands()) {
    std::string flags;
    for (const HelpEntry& flag : command.page.flags)
      for (const std::string& name : names_of(flag)) flags += (flags.empty() ? "" : " ") + name;
    commands += (commands.empty() ? "" : " ") + command.name;
    cases += fmt::format("    {}) words='{}' ;;\n", command.name, flags);
  }
  return fmt::format(R"(# bash completion for attend, written by `attend completions bash`
_attend() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} words=
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W '{} help --help --version' -- "$current"))
    return
  fi
  [[ $current == -* ]] || return  # files, by the shell itself
  case ${{COMP_WORDS[1]}} in
{}  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _attend attend
)",
                     commands, cases);
}

// In single quotes, as shells write one inside of them.
std::string quoted(const std::string& text) { return replaced(text, "'", "'\\''"); }

std::string zsh_completions() {
  // Of _describe the colon is special, of _arguments brackets too.
  const auto escaped = [](const std::string& text) {
    std::string safe = quoted(replaced(text, ":", "\\:"));
    return replaced(replaced(safe, "[", "\\["), "]", "\\]");
  };
  std::string commands, cases;
  for (const Documented& command : documented_commands()) {
    commands += fmt::format("    '{}:{}'\n", command.name, quoted(replaced(command.page.summary, ":", "\\:")));
    cases += fmt::format("    {})\n      _arguments '*:file:_files'", command.name);
    for (const HelpEntry& flag : command.page.flags)
      for (const std::string& name : names_of(flag))
        cases +=
            fmt::format(" \\\n        '{}[{}]{}'", name, escaped(flag.text), flag.value.empty() ? "" : ":value:_files");
    cases += " ;;\n";
  }
  return fmt::format(R"(#compdef attend
# zsh completion for attend, written by `attend completions zsh`
_attend() {{
  local -a commands
  commands=(
{}  )
  if ((CURRENT == 2)); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  ((CURRENT--))
  case $command in
{}  esac
}}
_attend "$@"
)",
                     commands, cases);
}

std::string fish_completions() {
  const auto escaped = [](const std::string& text) { return replaced(replaced(text, "\\", "\\\\"), "'", "\\'"); };
  std::string text = "# fish completion for attend, written by `attend completions fish`\n";
  for (const Documented& command : documented_commands()) {
    text += fmt::format("complete -c attend -n __fish_use_subcommand -f -a {} -d '{}'\n", command.name,
                        escaped(command.page.summary));
    for (const HelpEntry& flag : command.page.flags) {
      text += fmt::format("complete -c attend -n '__fish_seen_subcommand_from {}'", command.name);
      for (const std::string& name : names_of(flag))
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      text += fmt::format("{} -d '{}'\n", flag.value.empty() ? "" : " -r", escaped(flag.text));
    }
  }
  return text;
}

// Text of a manual page: a line must not open with a dot or a quote, and a hyphen is one.
std::string roff(const std::string& text) {
  std::string safe = replaced(replaced(text, "\\", "\\e"), "-", "\\-");
  if (!safe.empty() && (safe[0] == '.' || safe[0] == '\'')) safe.insert(0, "\\&");
  safe = replaced(safe, "\n.", "\n\\&.");
  return replaced(safe, "\n'", "\n\\&'");
}

std::string entries_of(const char* heading, const std::vector<HelpEntry>& entries) {
  if (entries.empty()) return "";
  std::string text = fmt::format(".SH {}\n", heading);
  for (const HelpEntry& entry : entries)
    text += fmt::format(".TP\n.B {}{}\n{}\n", roff(replaced(entry.name, ",", ", ")),
                        entry.value.empty() ? "" : " " + roff(entry.value), roff(entry.text));
  return text;
}

std::string manual_page(const std::string& name, const HelpPage& page) {
  std::string upper = name;
  for (char& letter : upper) letter = letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
  std::string text = fmt::format(".TH {} 1 \"\" attend\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{}\n", roff(upper),
                                 roff(name), roff(page.summary), roff(page.usage));
  text +=
      entries_of("COMMANDS", page.commands) + entries_of("ARGUMENTS", page.places) + entries_of("OPTIONS", page.flags);
  if (!page.examples.empty()) text += ".SH EXAMPLES\n.nf\n" + roff(page.examples) + ".fi\n";
  return text;
}

void write_pages(const std::vector<std::pair<std::filesystem::path, std::string>>& pages, const Streams& streams) {
  CommandFiles files{.reads_lines = false};
  for (const auto& [path, text] : pages) files.outputs.push_back({"--out", path});
  OutputFiles outputs(command_files(streams, std::move(files)));
  for (const auto& [path, text] : pages) outputs.write(path, text);
  outputs.commit();
}

void run_completions(const DocumentOptions& options, const Streams& streams) {
  const std::string text = options.shell == "bash"  ? bash_completions()
                           : options.shell == "zsh" ? zsh_completions()
                                                    : fish_completions();
  if (options.out.empty())
    streams.out << text;
  else
    write_pages({{options.out, text}}, streams);
}

void run_manual(const DocumentOptions& options, const Streams& streams) {
  const std::string page = manual_page("attend", help_of({"--help"}));
  if (options.out.empty()) {
    streams.out << page;
    return;
  }
  const std::filesystem::path folder = options.out;
  std::vector<std::pair<std::filesystem::path, std::string>> pages = {{folder / "attend.1", page}};
  for (const Documented& command : documented_commands())
    pages.emplace_back(folder / fmt::format("attend-{}.1", command.name),
                       manual_page("attend-" + command.name, command.page));
  write_pages(pages, streams);
}

}  // namespace

HelpPage read_help(std::string_view text) {
  HelpPage page;
  std::vector<HelpEntry>* entries = nullptr;
  bool examples = false;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (examples) {
      page.examples += line + "\n";
    } else if (line.starts_with("Usage: ")) {
      page.usage = line.substr(7);
    } else if (line.starts_with("Example")) {
      examples = true;
    } else if (line.ends_with(":") && !line.starts_with(" ")) {
      entries = line == "Positionals:" ? &page.places : line == "Subcommands:" ? &page.commands : &page.flags;
    } else if (entries && line.size() > 2 && line[2] != ' ' && line.starts_with("  ")) {
      entries->push_back(entry_of(line));
    } else if (entries && !entries->empty() && line.starts_with("   ")) {
      std::string& explained = entries->back().text;
      explained += (explained.empty() ? "" : " ") + without_spaces(line);
    } else if (page.usage.empty() && !line.empty()) {
      page.summary += (page.summary.empty() ? "" : " ") + line;
    }
  }
  return page;
}

void add_completions_command(Flags& program, const Streams& streams) {
  add_command<DocumentOptions>(
      program, streams, {.name = "completions", .help = "Writes what a shell needs to complete attend's words."},
      [](Flags& flags, DocumentOptions& options) {
        flags.add("shell", options.shell, "bash, zsh or fish").required().one_of({"bash", "zsh", "fish"});
        flags.add("--out", options.out, "a file; standard output if not given");
      },
      run_completions);
}

void add_manual_command(Flags& program, const Streams& streams) {
  add_command<DocumentOptions>(
      program, streams, {.name = "manual", .help = "Writes the manual page, or with --out one for each command."},
      [](Flags& flags, DocumentOptions& options) {
        flags.add("--out", options.out, "a folder for attend.1, attend-train.1 and so on");
      },
      run_manual);
}

}  // namespace attend::cli
