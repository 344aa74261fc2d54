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

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

HelpPage help_of(std::vector<std::string> words) {
  words.emplace_back("--help-json");
  std::istringstream in;
  std::ostringstream out, err;
  const int code = run_program(words, {.in = in, .out = out, .err = err});
  check(code == 0, "there is no help for '{}': {}", joined(words, " "), err.str());
  return read_help_page(out.str());
}

// The help of attend train has the flags that all tasks share. Those of some tasks, each with its own default, follow.
void add_flags_of_tasks(HelpPage& page) {
  const std::size_t shared = page.flags.size();
  std::vector<std::string> owners;  // of the flags that follow
  for (const TrainedTask& task : trained_tasks())
    for (HelpEntry& flag : help_of({"train", "--task", std::string(task.name)}).flags) {
      const auto found = std::ranges::find(page.flags, flag.names, &HelpEntry::names);
      const auto at = static_cast<std::size_t>(found - page.flags.begin());
      if (at < shared) continue;
      if (found == page.flags.end()) {
        flag.default_value.clear();
        page.flags.push_back(std::move(flag));
        owners.emplace_back(task.name);
      } else {
        owners[at - shared] += ", " + std::string(task.name);
      }
    }
  for (std::size_t i = 0; i < owners.size(); ++i) page.flags[shared + i].text += fmt::format(" (--task {})", owners[i]);
}

struct Documented {
  std::string name;
  HelpPage page;
  std::vector<Documented> commands = {};  // of a group, "report" of "data"
};
std::vector<Documented> documented_commands(const std::vector<std::string>& group = {}) {
  std::vector<Documented> pages;
  for (const HelpEntry& command : help_of(group).commands) {
    std::vector<std::string> words = group;
    words.push_back(command.names[0]);
    pages.push_back({command.names[0], help_of(words)});
    Documented& added = pages.back();
    if (added.name == "train") add_flags_of_tasks(added.page);
    if (added.page.commands.empty()) continue;
    added.commands = documented_commands(words);
    for (const Documented& one : added.commands)  // a shell completes those of all, whichever it is
      for (const HelpEntry& flag : one.page.flags)
        if (std::ranges::find(added.page.flags, flag.names, &HelpEntry::names) == added.page.flags.end())
          added.page.flags.push_back(flag);
  }
  return pages;
}

std::string names_of(const std::vector<Documented>& commands) {
  std::string names;
  for (const Documented& command : commands) names += (names.empty() ? "" : " ") + command.name;
  return names;
}

std::string bash_completions() {
  std::string cases, groups;
  const std::vector<Documented> commands = documented_commands();
  for (const Documented& command : commands) {
    std::string flags;
    for (const HelpEntry& flag : command.page.flags)
      for (const std::string& name : flag.names) flags += (flags.empty() ? "" : " ") + name;
    if (!command.commands.empty())
      groups += fmt::format("    {}) words='{}' ;;\n", command.name, names_of(command.commands));
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
  if ((COMP_CWORD == 2)) && [[ $current != -* ]]; then
    case ${{COMP_WORDS[1]}} in
{}    *) return ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    return
  fi
  [[ $current == -* ]] || return  # files, by the shell itself
  case ${{COMP_WORDS[1]}} in
{}  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _attend attend
)",
                     names_of(commands), groups, cases);
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
    cases += fmt::format("    {})\n      _arguments", command.name);
    if (!command.commands.empty()) cases += fmt::format(" '1:command:({})'", names_of(command.commands));
    cases += " '*:file:_files'";
    for (const HelpEntry& flag : command.page.flags)
      for (const std::string& name : flag.names)
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
    for (const Documented& one : command.commands)
      text += fmt::format("complete -c attend -n '__fish_seen_subcommand_from {}' -f -a {} -d '{}'\n", command.name,
                          one.name, escaped(one.page.summary));
    for (const HelpEntry& flag : command.page.flags) {
      text += fmt::format("complete -c attend -n '__fish_seen_subcommand_from {}'", command.name);
      for (const std::string& name : flag.names)
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
    text += fmt::format(".TP\n.B {}{}\n{}\n", roff(joined(entry.names, ", ")),
                        entry.value.empty() ? "" : " " + roff(entry.value), roff(full_text(entry)));
  return text;
}

std::string manual_page(const std::string& name, const HelpPage& page) {
  std::string upper = name;
  for (char& letter : upper) letter = letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
  std::string text = fmt::format(".TH {} 1 \"\" attend\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{}\n", roff(upper),
                                 roff(name), roff(page.summary), roff(page.usage));
  text += entries_of("COMMANDS", page.commands) + entries_of("ARGUMENTS", page.arguments) +
          entries_of("TASKS", page.topics) + entries_of("OPTIONS", page.flags);
  if (!page.notes.empty()) text += ".SH NOTES\n";
  for (const std::string& note : page.notes) text += ".PP\n" + roff(note) + "\n";
  if (page.examples.empty()) return text;
  text += ".SH EXAMPLES\n.nf\n";
  for (const HelpExample& example : page.examples)
    text += roff(example.command + (example.comment.empty() ? "" : "  # " + example.comment)) + "\n";
  return text + ".fi\n";
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
  const std::string page = manual_page("attend", help_of({}));
  if (options.out.empty()) {
    streams.out << page;
    return;
  }
  const std::filesystem::path folder = options.out;
  std::vector<std::pair<std::filesystem::path, std::string>> pages = {{folder / "attend.1", page}};
  const auto add = [&](const std::string& name, const HelpPage& one) {
    pages.emplace_back(folder / (name + ".1"), manual_page(name, one));
  };
  for (const Documented& command : documented_commands()) {
    const std::string name = "attend-" + command.name;
    add(name, command.page);
    for (const Documented& one : command.commands) add(name + "-" + one.name, one.page);
  }
  write_pages(pages, streams);
}

}  // namespace

void add_completions_command(Flags& program, const Streams& streams) {
  add_command<DocumentOptions>(
      program, streams,
      {.name = "completions", .help = "Print a completion script for bash, zsh or fish.", .examples = R"(
  attend completions bash > ~/.local/share/bash-completion/completions/attend
  attend completions zsh --out ~/.zfunc/_attend
  attend completions fish --out ~/.config/fish/completions/attend.fish)"},
      [](Flags& flags, DocumentOptions& options) {
        flags.add("shell", options.shell, "Shell to complete for: bash, zsh or fish.")
            .required()
            .one_of({"bash", "zsh", "fish"});
        flags.add("--out", options.out, "File to write. Standard output by default.");
      },
      run_completions);
}

void add_manual_command(Flags& program, const Streams& streams) {
  add_command<DocumentOptions>(
      program, streams,
      {.name = "manual", .help = "Print the manual page, or write one page per command with --out.", .examples = R"(
  attend manual | man -l -           # show the manual page
  attend manual --out share/man/man1 # write attend.1, attend-train.1, ...)"},
      [](Flags& flags, DocumentOptions& options) {
        flags.add("--out", options.out, "Folder for attend.1, attend-train.1, ...").takes("FOLDER");
      },
      run_manual);
}

}  // namespace attend::cli
