#include "attend/look/inspect/source_lines.h"

#include "attend/base/error.h"

namespace attend::look {

const SourceLine& source_line(std::string_view name) {
  for (const SourceLine& line : source_lines())
    if (line.name == name) return line;
  fail("look: source_lines.txt has no '{}'", name);
}

}  // namespace attend::look
