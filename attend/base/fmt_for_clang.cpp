// The one template of fmt's library (built by g++) whose mangled name clang spells otherwise. Headers alone
// (FMT_HEADER_ONLY) would link as well, but cost two of ten seconds in each unit.
#if defined(__clang__) && !defined(FMT_HEADER_ONLY)
#include <fmt/format.h>

template void fmt::detail::vformat_to<char>(buffer<char>&, basic_string_view<char>,
                                            basic_format_args<buffer_context<char>>, locale_ref);
#endif
