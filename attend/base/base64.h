// Bytes as text (RFC 4648), for what travels inside JSON and HTML.
#pragma once

#include <string>
#include <string_view>

namespace attend {

std::string base64(std::string_view bytes);

}  // namespace attend
