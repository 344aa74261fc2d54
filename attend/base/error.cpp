// Where every error is thrown from.
#include "attend/base/error.h"

#include <fmt/core.h>

namespace attend {

void throw_error(fmt::string_view format, fmt::format_args args) { throw Error(fmt::vformat(format, args)); }

}  // namespace attend
