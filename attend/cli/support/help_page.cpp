#include "attend/cli/support/help_page.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

#include "attend/base/fields.h"
#include "attend/base/joined.h"

namespace attend::cli {

namespace {

using Words = std::vector<std::string>;

constexpr std::size_t kIndent = 2;
constexpr std::size_t kWidestName = 28;   // longer ones get a line of their own
constexpr std::size_t kLeadExamples = 3;  // the others close the page
constexpr std::size_t kFewFlags = 5;      // so many need no headings

std::string spaces(std::size_t count) { return std::string(count, ' '); }

// Columns of UTF-8 text.
std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

Words words_of(std::string_view text) {
  Words words;
  std::istringstream in{std::string(text)};
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// Lines of at most `width` columns; those after the first open with `indent` spaces.
std::string wrapped(const Words& words, std::size_t width, std::size_t indent) {
  std::string text;
  std::size_t used = 0;
  for (const std::string& word : words) {
    const std::size_t columns = columns_of(word);
    if (used > 0 && used + 1 + columns > width) {
      text += "\n" + spaces(indent);
      used = 0;
    }
    text += (used > 0 ? " " : "") + word;
    used += (used > 0 ? 1 : 0) + columns;
  }
  return text;
}

bool has_word(std::string_view text, std::string_view word) {
  const auto part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_'; };
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !part(text[at - 1])) && (end == text.size() || !part(text[end]))) return true;
  }
  return false;
}

// "[default: 4]" and its like. Choices that the text explains by name are not listed again.
Words remarks_on(const HelpEntry& entry) {
  Words remarks;
  const auto explained = [&](const std::string& choice) { return has_word(entry.text, choice); };
  if (!entry.choices.empty() && !std::ranges::all_of(entry.choices, explained))
    remarks.push_back("[choices: " + joined(entry.choices, ", ") + "]");
  if (!entry.default_value.empty()) remarks.push_back("[default: " + entry.default_value + "]");
  if (entry.required) remarks.emplace_back("[required]");
  if (!entry.needs.empty()) remarks.push_back("[needs: " + joined(entry.needs, ", ") + "]");
  return remarks;
}

std::string left_of(const HelpEntry& entry) {
  std::string text = joined(entry.names, ", ");
  if (!entry.value.empty()) text += " " + entry.value;
  return text + (entry.repeats ? "..." : "");
}

// The headings of flags in their order; "" stands for those that only one command has.
constexpr std::array<std::string_view, 8> kGroupOrder = {"Model",       "Data",        "",     "Training", "Output",
                                                         "Performance", "Distributed", "Other"};

std::size_t rank_of(std::string_view group) {
  const auto found = std::ranges::find(kGroupOrder, group);
  const auto place = found == kGroupOrder.end() ? std::ranges::find(kGroupOrder, "") : found;
  return static_cast<std::size_t>(place - kGroupOrder.begin());
}

using Entries = std::vector<const HelpEntry*>;
struct Group {
  std::string heading;
  Entries entries;
};

void add_to(std::vector<Group>& groups, const std::string& heading, const HelpEntry& entry) {
  auto found = std::ranges::find(groups, heading, &Group::heading);
  if (found == groups.end()) found = groups.insert(groups.end(), Group{heading, {}});
  found->entries.push_back(&entry);
}

std::vector<Group> grouped(const std::vector<HelpEntry>& entries) {
  std::vector<Group> groups;
  for (const HelpEntry& entry : entries) add_to(groups, entry.group, entry);
  return groups;
}

std::vector<Group> flag_groups(const std::vector<HelpEntry>& flags) {
  std::vector<Group> groups;
  for (std::size_t rank = 0; rank < kGroupOrder.size(); ++rank)
    for (const HelpEntry& flag : flags)
      if (rank_of(flag.group) == rank) add_to(groups, flags.size() <= kFewFlags ? "Options" : flag.group, flag);
  return groups;
}

class Layout {
 public:
  Layout(const HelpPage& page, const HelpStyle& style) : style_(style), width_(static_cast<std::size_t>(style.width)) {
    std::size_t widest = 0;
    for (const auto* entries : {&page.arguments, &page.commands, &page.topics, &page.flags})
      for (const HelpEntry& entry : *entries)
        if (const std::size_t columns = columns_of(left_of(entry)); columns <= kWidestName)
          widest = std::max(widest, columns);
    column_ = kIndent + widest + 2;
  }

  std::string heading(const std::string& text) const {
    return style_.bold ? "\x1b[1m" + text + ":\x1b[0m" : text + ":";
  }
  std::string paragraph(const std::string& text) const { return wrapped(words_of(text), width_, 0) + "\n"; }
  std::string section(const Group& group) const {
    std::string text = "\n" + heading(group.heading) + "\n";
    for (const HelpEntry* entry : group.entries) text += line_of(*entry);
    return text;
  }
  // A comment stands behind its command where all of them fit, and else above it, so that both can be pasted.
  std::string examples(const std::string& title, const std::vector<HelpExample>& examples) const {
    if (examples.empty()) return "";
    std::size_t widest = 0;
    for (const HelpExample& example : examples)
      if (!example.comment.empty()) widest = std::max(widest, columns_of(example.command));
    const bool fit = std::ranges::all_of(examples, [&](const HelpExample& example) {
      return example.comment.empty() || kIndent + widest + 4 + columns_of(example.comment) <= width_;
    });
    std::string text = "\n" + heading(title) + "\n";
    for (const HelpExample& example : examples) {
      if (!fit && !example.comment.empty()) text += "  # " + example.comment + "\n";
      text += "  " + example.command;
      if (fit && !example.comment.empty())
        text += spaces(widest - columns_of(example.command)) + "  # " + example.comment;
      text += "\n";
    }
    return text;
  }

 private:
  std::string line_of(const HelpEntry& entry) const {
    std::string text = spaces(kIndent) + left_of(entry);
    const std::size_t columns = columns_of(text);
    Words words = words_of(entry.text);
    for (const std::string& remark : remarks_on(entry)) {
      const Words parts = remark.size() <= 40 ? Words{remark} : words_of(remark);
      words.insert(words.end(), parts.begin(), parts.end());
    }
    if (words.empty()) return text + "\n";
    text += columns + 2 > column_ ? "\n" + spaces(column_) : spaces(column_ - columns);
    return text + wrapped(words, width_ - column_, column_) + "\n";
  }

  HelpStyle style_;
  std::size_t width_, column_ = 0;
};

}  // namespace

std::string full_text(const HelpEntry& entry) {
  std::string text = entry.text;
  for (const std::string& remark : remarks_on(entry)) text += (text.empty() ? "" : " ") + remark;
  return text;
}

std::string help_text(const HelpPage& page, const HelpStyle& style) {
  if (style.as_json) return write_fields(page).dump(2) + "\n";
  const Layout layout(page, style);
  const auto lead = page.examples.begin() + static_cast<std::ptrdiff_t>(std::min(page.examples.size(), kLeadExamples));
  std::string text = layout.paragraph(page.summary) + "\n" + layout.heading("Usage") + " " + page.usage + "\n";
  text += layout.examples("Examples", {page.examples.begin(), lead});
  for (const auto* entries : {&page.arguments, &page.commands, &page.topics})
    for (const Group& group : grouped(*entries)) text += layout.section(group);
  for (const Group& group : flag_groups(page.flags)) text += layout.section(group);
  text += layout.examples("More examples", {lead, page.examples.end()});
  for (const std::string& note : page.notes) text += "\n" + layout.paragraph(note);
  return text;
}

HelpPage read_help_page(std::string_view json) {
  HelpPage page;
  read_fields(page, parse_json(std::string(json), "--help-json"), "--help-json");
  return page;
}

std::string standard_group(std::string_view flag) {
  static const std::vector<std::pair<std::string_view, std::vector<std::string_view>>> kGroups = {
      {"Model", {"--model", "--from", "--strict", "--tokenizer", "--pooling"}},
      {"Data",
       {"--max-line", "--max-pixels", "--images", "--format", "--header", "--text-column", "--pair-column",
        "--label-column", "--question", "--context-text", "--input", "--prompts", "--hypotheses", "--references",
        "--ground-truth", "--predictions"}},
      {"Decoding",
       {"--beams", "--alpha", "--sample", "--greedy", "--temperature", "--top-p", "--min-p", "--repetition-penalty",
        "--max-tokens", "--stop", "--speculate", "--draft"}},
      {"Output",
       {"--json", "--out", "--output", "--resume", "--overwrite", "--png", "--svg", "--npy", "--show",
        "--show-attention", "--results", "--n-best"}},
      {"Performance", {"--device", "--dtype", "--threads", "--weights", "--batch", "--exact-prompts", "--unbuffered"}},
      {"Other", {"--help", "--version"}}};
  for (const auto& [group, flags] : kGroups)
    if (std::ranges::find(flags, flag) != flags.end()) return std::string(group);
  return "Options";
}

std::string standard_value(std::string_view flag) {
  static const std::vector<std::pair<std::string_view, std::vector<std::string_view>>> kValues = {
      {"FILE",
       {"--api-key-file", "--attention",      "--attention-svg", "--context",     "--export",      "--ground-truth",
        "--hypotheses",   "--image",          "--images",        "--input",       "--json",        "--npy",
        "--out",          "--output",         "--png",           "--predictions", "--prompts",     "--references",
        "--results",      "--show-attention", "--source",        "--svg",         "--target",      "--test-names",
        "--test-source",  "--test-target",    "--tokenizer",     "--train-names", "--valid-names", "--valid-source",
        "--valid-target", "--valid-text",     "--unix"}},
      {"FOLDER", {"--backbone", "--beside", "--draft", "--encoder", "--feature-model", "--from", "--model", "--run"}},
      {"PATH", {"--train", "--valid", "--test"}},
      {"JSON", {"--config", "--decoder-config"}},
      {"SIZE", {"--max-body", "--max-image", "--max-memory"}},
      {"NUMBERS", {"--attention-window", "--mean", "--std"}},
      {"NAME", {"--cell",    "--access-log",   "--activation",  "--backend",     "--broken",    "--class",
                "--crop",    "--decoder",      "--device",      "--dtype",       "--format",    "--freeze",
                "--host",    "--label-column", "--label-names", "--metric",      "--norms",     "--pair-column",
                "--pooling", "--positions",    "--preset",      "--prompt-name", "--recompute", "--schedule",
                "--select",  "--task",         "--text-column", "--walk-class",  "--weights",   "--wire",
                "--without"}}};
  for (const auto& [value, flags] : kValues)
    if (std::ranges::find(flags, flag) != flags.end()) return std::string(value);
  return "TEXT";
}

std::vector<HelpExample> examples_from(std::string_view lines) {
  std::vector<HelpExample> examples;
  std::istringstream in{std::string(lines)};
  for (std::string line; std::getline(in, line);) {
    const std::size_t begin = line.find_first_not_of(' '), mark = line.find(" # ");
    if (begin == std::string::npos) continue;
    HelpExample example{.command = line.substr(begin, mark == std::string::npos ? mark : mark - begin)};
    example.command.erase(example.command.find_last_not_of(' ') + 1);
    if (mark != std::string::npos) example.comment = line.substr(mark + 3);
    examples.push_back(std::move(example));
  }
  return examples;
}

}  // namespace attend::cli
