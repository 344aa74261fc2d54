// One page of --help as data: laid out as text for a terminal, or written as JSON for completions, manual pages and
// tools/check-docs, which must not depend on the layout.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attend::cli {

// A flag, an argument, a command or a topic.
struct HelpEntry {
  std::vector<std::string> names;  // {"-h", "--help"}; one for an argument, a command or a topic
  std::string value = {};          // the kind of value of a flag, "INT"; empty: it takes none
  std::string default_value = {};
  std::vector<std::string> choices = {}, needs = {};
  bool required = false, repeats = false;  // repeats: takes all values that follow
  std::string group = {};                  // the heading that it is listed under
  std::string text = {};

  template <class Visitor>
  void visit(Visitor&& v) {
    v("names", names, ""), v("value", value, ""), v("default", default_value, ""), v("choices", choices, "");
    v("needs", needs, ""), v("required", required, ""), v("repeats", repeats, "");
    v("group", group, ""), v("text", text, "");
  }
};

struct HelpExample {
  std::string command, comment = {};

  template <class Visitor>
  void visit(Visitor&& v) {
    v("command", command, ""), v("comment", comment, "");
  }
};

struct HelpPage {
  std::string summary, usage;
  std::vector<HelpExample> examples = {};  // the first three open the page
  std::vector<HelpEntry> arguments = {}, commands = {}, topics = {}, flags = {};
  std::vector<std::string> notes = {};  // paragraphs that close the page

  template <class Visitor>
  void visit(Visitor&& v) {
    v("summary", summary, ""), v("usage", usage, ""), v("examples", examples, ""), v("arguments", arguments, "");
    v("commands", commands, ""), v("topics", topics, ""), v("flags", flags, ""), v("notes", notes, "");
  }
};

struct HelpStyle {
  int width = 100;       // columns
  bool bold = false;     // headings, in a terminal
  bool as_json = false;  // the page as data instead
};

std::string help_text(const HelpPage& page, const HelpStyle& style);
HelpPage read_help_page(std::string_view json);

// The text of an entry with its choices, default, requirement and needed flags in brackets.
std::string full_text(const HelpEntry& entry);

// The heading for a flag that is named alike in many commands; "Options" for the others.
std::string standard_group(std::string_view flag);
// "FILE" of --png: what --help calls the value of a flag that takes text.
std::string standard_value(std::string_view flag);

// One example per line, a comment after " # ".
std::vector<HelpExample> examples_from(std::string_view lines);

}  // namespace attend::cli
