// What attend serve can be asked, as a table: of it the page /docs and the OpenAPI file are made.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace attend::serve {

struct RouteDoc {
  std::string_view family, method, path, summary;
  std::string_view example = {};  // of a body, JSON
};
std::span<const RouteDoc> route_docs();

std::string openapi_json(std::string_view version);
// The same for people. host: by which name and port the reader came, for the lines to try.
std::string docs_page(std::string_view version, std::string_view host);
// The head of such a page, up to and with its title.
std::string page_head(std::string_view title);

}  // namespace attend::serve
