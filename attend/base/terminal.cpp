#include "attend/base/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace attend {

namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

Terminal terminal_of(int descriptor) {
  Terminal terminal;
  if (!isatty(descriptor)) return terminal;
  const bool dumb = environment("TERM") == "dumb";
  terminal.interactive = !dumb;
  terminal.color = !dumb && environment("NO_COLOR").empty();
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) terminal.width = size.ws_col;
  return terminal;
}

}  // namespace attend
