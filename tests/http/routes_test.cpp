// The table of routes: which one a path and a method find, and what is said when none does.
#include "attend/http/routes.h"

#include <gtest/gtest.h>

namespace attend::http {
namespace {

RouteTable<int> table() {
  RouteTable<int> routes;
  routes.add({"POST", "/v1/embed"}, 0);
  routes.add({"GET", "/models/{id}/pipeline/{task}"}, 1);
  routes.add({"GET", "/models/{id}"}, 2);
  routes.add({"POST", "/models/{id}"}, 3);
  routes.add({"", "/v1/{path}"}, 4);
  return routes;
}

Request asked(const char* method, const char* path) {
  Request request;
  request.method = method, request.path = path;
  return request;
}

TEST(Routes, APathFindsItsHandler) {
  const RouteTable<int> routes = table();
  const auto found = [&](const char* method, const char* path) {
    const auto match = routes.find(asked(method, path));
    return !match || match->wrong_method() ? -1 : routes.handler(*match);
  };
  EXPECT_EQ(found("POST", "/v1/embed"), 0);
  EXPECT_EQ(found("GET", "/models/a/pipeline/b"), 1);
  EXPECT_EQ(found("HEAD", "/models/a"), 2);
  EXPECT_EQ(found("POST", "/models/a/b"), 3);
  EXPECT_EQ(found("PUT", "/v1/other"), 4);
  for (const char* path : {"", "/", "/models", "/models/", "/v1", "/v1/", "x/v1/embed", "/v1/embed/../.."})
    EXPECT_NE(found("POST", path), 0) << path;
  EXPECT_FALSE(routes.find(asked("GET", "/models/")));
}

TEST(Routes, ValuesOfAPathAreAsShortAsTheyCanBe) {
  const auto values = match_path("/models/{id}/pipeline/{task}", "/models/org/name/pipeline/x/pipeline/y");
  ASSERT_TRUE(values);
  EXPECT_EQ(values->at("id"), "org/name");
  EXPECT_EQ(values->at("task"), "x/pipeline/y");
  EXPECT_FALSE(match_path("/models/{id}/pipeline/{task}", "/models/a/pipeline/"));
  EXPECT_FALSE(match_path("/models/{id}/v1", "/models//v1"));
  EXPECT_EQ(match_path("/{id}/v1", "/a/v1/v1")->at("id"), "a/v1");
  EXPECT_EQ(path_names("/models/{id}/pipeline/{task}"), (std::vector<std::string>{"id", "task"}));
}

TEST(Routes, AWrongMethodIsToldTheRightOnes) {
  const RouteTable<int> routes = table();
  const auto match = routes.find(asked("DELETE", "/models/a"));
  ASSERT_TRUE(match && match->wrong_method());
  EXPECT_EQ(match->ask_with(), "ask with GET or POST");
  EXPECT_EQ(match->allow().second, "GET, HEAD, POST");
  // The path decides first: no later pattern that fits as well answers instead.
  EXPECT_TRUE(routes.find(asked("POST", "/models/a/pipeline/b"))->wrong_method());
  EXPECT_TRUE(routes.find(asked("GET", "/v1/embed"))->wrong_method());
}

}  // namespace
}  // namespace attend::http
