// What attend serve can be asked, from its table of routes: the page /docs and the OpenAPI file.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "attend/http/routes.h"

namespace attend::serve {

std::string openapi_json(std::string_view version, std::span<const http::Route> routes);
// The same for people. host: by which name and port the reader came, for the lines to try.
std::string docs_page(std::string_view version, std::string_view host, std::span<const http::Route> routes);
// The head of such a page, up to and with its title.
std::string page_head(std::string_view title);

}  // namespace attend::serve
