#include "attend/base/terminal.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "attend/base/unicode/unicode.h"

namespace attend {

namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// C0, delete, C1, and the signs that turn the direction of writing.
bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c <= 0x9F) || c == 0x200E || c == 0x200F || (c >= 0x2028 && c <= 0x202E) ||
         (c >= 0x2066 && c <= 0x2069);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char32_t c = next_character(text, at);
    if (c == kInvalidCharacter)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at++]));
    else if (c == '\n' || c == '\t' || c == '\r')
      out += c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r";
    else if (is_control(c))
      out += c < 0x100 ? fmt::format("\\x{:02x}", static_cast<unsigned>(c))
                       : fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += text.substr(begin, at - begin);
  }
  return out;
}

Terminal terminal_of(int descriptor) {
  Terminal terminal;
  if (!isatty(descriptor)) return terminal;
  const bool dumb = environment("TERM") == "dumb";
  terminal.interactive = !dumb;
  terminal.color = !dumb && environment("NO_COLOR").empty();
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    terminal.width = size.ws_col;
  else if (const int columns = std::atoi(std::string(environment("COLUMNS")).c_str()); columns > 0)
    terminal.width = columns;
  return terminal;
}

}  // namespace attend
