#include "attend/cli/shell_word.h"

namespace attend {

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

}  // namespace attend
