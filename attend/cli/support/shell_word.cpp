#include "attend/cli/support/shell_word.h"

namespace attend::cli {

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
  const bool plain = !text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos;
  if (plain) return std::string(text);
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

std::string with_word(std::string command, std::string_view name, std::string_view text) {
  const std::string word = shell_word(text);
  for (std::size_t at = command.find(name); at != std::string::npos; at = command.find(name, at + word.size()))
    command.replace(at, name.size(), word);
  return command;
}

std::string called_as(std::string_view program, std::string_view lines) {
  constexpr std::string_view kName = "attend", kAlone = "  attend ", kBehind = " | attend ";
  std::string text;
  while (!lines.empty()) {
    std::string line(lines.substr(0, lines.find('\n') == lines.npos ? lines.npos : lines.find('\n') + 1));
    lines.remove_prefix(line.size());
    const std::size_t behind = line.find(kBehind);
    if (line.starts_with(kAlone))
      line.replace(2, kName.size(), shell_word(program));
    else if (line.starts_with("  ") && behind != std::string::npos)
      line.replace(behind + 3, kName.size(), shell_word(program));
    text += line;
  }
  return text;
}

}  // namespace attend::cli
