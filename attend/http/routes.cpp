#include "attend/http/routes.h"

#include <fmt/core.h>

#include <algorithm>

namespace attend::http {

namespace {

bool fits(const Route& route, std::string_view method) {
  return route.method == method || (route.method == "GET" && method == "HEAD");
}

}  // namespace

std::optional<PathValues> match_path(std::string_view pattern, std::string_view path) {
  const std::size_t open = pattern.find('{');
  if (open == std::string_view::npos) return pattern == path ? std::optional(PathValues()) : std::nullopt;
  if (path.substr(0, open) != pattern.substr(0, open)) return std::nullopt;
  const std::size_t close = pattern.find('}', open);
  const std::string_view rest = pattern.substr(close + 1);
  path.remove_prefix(open);
  for (std::size_t length = rest.empty() ? path.size() : 1; length >= 1 && length <= path.size(); ++length)
    if (auto values = match_path(rest, path.substr(length))) {
      values->emplace(pattern.substr(open + 1, close - open - 1), path.substr(0, length));
      return values;
    }
  return std::nullopt;
}

std::vector<std::string> path_names(std::string_view pattern) {
  std::vector<std::string> names;
  for (std::size_t open = pattern.find('{'); open != std::string_view::npos; open = pattern.find('{', open + 1))
    names.emplace_back(pattern.substr(open + 1, pattern.find('}', open) - open - 1));
  return names;
}

std::optional<RouteMatch> find_route(std::span<const Route> routes, std::string_view method, std::string_view path) {
  for (const bool any_method : {false, true})
    for (std::size_t i = 0; i < routes.size(); ++i) {
      if (routes[i].method.empty() != any_method) continue;
      auto values = match_path(routes[i].path, path);
      if (!values) continue;
      RouteMatch match{.index = i, .values = std::move(*values)};
      if (any_method) return match;
      for (std::size_t j = i; j < routes.size(); ++j) {
        if (routes[j].path != routes[i].path || routes[j].method.empty()) continue;
        if (fits(routes[j], method)) return RouteMatch{.index = j, .values = std::move(match.values)};
        match.methods.push_back(routes[j].method);
      }
      return match;
    }
  return std::nullopt;
}

std::string RouteMatch::ask_with() const {
  std::string text = "ask with ";
  for (std::size_t i = 0; i < methods.size(); ++i) text += (i > 0 ? " or " : "") + methods[i];
  return text;
}

std::pair<std::string, std::string> RouteMatch::allow() const {
  std::string all;
  for (const std::string& method : methods) all += (all.empty() ? "" : ", ") + (method == "GET" ? "GET, HEAD" : method);
  return {"allow", all};
}

}  // namespace attend::http
