// The one list of what a server can be asked. Dispatch, 404, 405 with Allow, the OpenAPI file and the page of paths are
// all made from it, so an endpoint is written down once, beside the function that answers it.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attend/http/http.h"

namespace attend::http {

struct Route {
  // GET also answers HEAD. An empty method answers any, where no other route has the path: the 404 of a family.
  std::string method;
  // "/models/{id}/pipeline/{task}": {name} stands for any text that is not empty, slashes included, as short as it can
  // be.
  std::string path;
  // For documentation. A route without a summary is not listed; example is a body, in JSON.
  std::string summary = {}, example = {}, family = {};
};

// What each {name} of a path stood for.
using PathValues = std::map<std::string, std::string, std::less<>>;
std::optional<PathValues> match_path(std::string_view pattern, std::string_view path);
// "/models/{id}" -> id
std::vector<std::string> path_names(std::string_view pattern);

struct RouteMatch {
  std::size_t index = 0;  // of the first route with the path
  PathValues values = {};
  std::vector<std::string> methods = {};  // those that the path has, where the request's is none of them

  bool wrong_method() const { return !methods.empty(); }
  std::string ask_with() const;                       // "ask with POST"
  std::pair<std::string, std::string> allow() const;  // the header
};
// The path decides first, in the order of the list, then the method. Nothing: no route has the path.
std::optional<RouteMatch> find_route(std::span<const Route> routes, std::string_view method, std::string_view path);

template <class Handler>
class RouteTable {
 public:
  void add(Route route, Handler handler) {
    routes_.push_back(std::move(route));
    handlers_.push_back(std::move(handler));
  }
  std::optional<RouteMatch> find(const Request& request) const {
    return find_route(routes_, request.method, request.path);
  }
  const Handler& handler(const RouteMatch& match) const { return handlers_[match.index]; }
  std::span<const Route> routes() const { return routes_; }

 private:
  std::vector<Route> routes_;
  std::vector<Handler> handlers_;
};

}  // namespace attend::http
