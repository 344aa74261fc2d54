// JSON values: built, read, changed, written; and what the parser refuses. Strings and numbers are those of RFC 8259.
#include "attend/base/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "attend/base/error.h"

namespace attend {
namespace {

std::string refusal(std::string_view text) {
  try {
    parse_json(text, "x.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "taken";
}

TEST(Json, BuildsFromLists) {
  const Json json = {{"a", 1}, {"b", {1, 2.5, "x", nullptr, true}}, {"c", {{"d", std::vector<int>{3, 4}}}}};
  EXPECT_EQ(json.dump(), R"({"a":1,"b":[1,2.5,"x",null,true],"c":{"d":[3,4]}})");
  EXPECT_EQ(json.dump(1),
            "{\n \"a\": 1,\n \"b\": [\n  1,\n  2.5,\n  \"x\",\n  null,\n  true\n ],\n \"c\": {\n  \"d\": "
            "[\n   3,\n   4\n  ]\n }\n}");
  EXPECT_EQ(Json::array({"a", 1}).dump(), R"(["a",1])");
  EXPECT_EQ(Json(std::set<std::string>{"y", "x"}).dump(), R"(["x","y"])");
  EXPECT_EQ(Json().dump() + Json::array().dump(2) + Json::object().dump(2), "null[]{}");
}

TEST(Json, KeepsTheOrderAndFindsManyNames) {
  Json json = Json::object();
  for (int i = 999; i >= 0; --i) json["name" + std::to_string(i)] = i;
  json.erase("name500");
  int expected = 999, seen = 0;
  for (const auto& [name, value] : json.items()) {
    if (expected == 500) --expected;
    EXPECT_EQ(name, "name" + std::to_string(expected));
    EXPECT_EQ(value, expected--);
    ++seen;
  }
  EXPECT_EQ(seen, 999);
  EXPECT_FALSE(json.contains("name500"));
  EXPECT_EQ(json["name7"].get<int>(), 7);
  EXPECT_EQ(parse_json(json.dump(), "x"), json);
}

TEST(Json, CopiesAreApart) {
  Json json = {{"a", {{"b", "text"}}}};
  Json copy = json;
  copy["a"]["b"] = 2;
  EXPECT_EQ(json["a"]["b"], "text");
  json = json["a"];  // a part of itself
  EXPECT_EQ(json.dump(), R"({"b":"text"})");
  json.update({{"b", 1}, {"c", 2}});
  EXPECT_EQ(json.dump(), R"({"b":1,"c":2})");
}

TEST(Json, ReadsOnlyWhatFits) {
  const Json json = parse_json(R"({"big": 18446744073709551615, "low": -129, "real": 1.5, "list": [1, "a"]})", "x");
  EXPECT_EQ(json["big"].get<std::uint64_t>(), UINT64_MAX);
  EXPECT_THROW(json["big"].get<std::int64_t>(), Error);
  EXPECT_THROW(json["low"].get<std::int8_t>(), Error);
  EXPECT_THROW(json["low"].get<std::uint64_t>(), Error);
  EXPECT_EQ(json["low"].get<std::int64_t>(), -129);
  EXPECT_THROW(json["real"].get<int>(), Error);
  EXPECT_THROW(json["real"].get<bool>(), Error);
  EXPECT_THROW(json["list"].get<std::vector<int>>(), Error);
  EXPECT_THROW(json["list"][2], Error);
  EXPECT_THROW(json["list"].items(), Error);
  EXPECT_THROW(json.at("none"), Error);
  EXPECT_TRUE(json["none"]["neither"].is_null());
  EXPECT_EQ(json.value("none", 3), 3);
  EXPECT_EQ(json.value("real", 0.0f), 1.5f);
  EXPECT_EQ(json.value("none", "text"), "text");
}

TEST(Json, NumbersComeBackAsTheyWere) {
  for (const char* text : {"0", "-1", "9223372036854775807", "-9223372036854775808", "18446744073709551615", "1.0",
                           "0.1", "-2.5e-07", "1.7976931348623157e+308", "5e-324"})
    EXPECT_EQ(parse_json(text, "x").dump(), text);
  EXPECT_EQ(parse_json("18446744073709551616", "x").get<double>(), 18446744073709551616.0);
  EXPECT_EQ(parse_json("1e-999", "x").get<double>(), 0);
  EXPECT_EQ(parse_json("1E2", "x"), 100);
  EXPECT_EQ(Json(std::nan("")).dump(), "null");
}

TEST(Json, StringsComeBackAsTheyWere) {
  EXPECT_EQ(parse_json(R"("\u00e9\ud83e\udd17\n\/\"\\\u0000")", "x").text(),
            std::string("\u00e9\U0001F917\n/\"\\\0", 11));
  EXPECT_EQ(Json(std::string("\x01\x1f\x7f\"\\\b\f\n\r\t\u00e9", 12)).dump(),
            "\"\\u0001\\u001f\x7f\\\"\\\\\\b\\f\\n\\r\\t\u00e9\"");
  EXPECT_EQ(Json("a\xff"
                 "b\xe6\x9d")
                .dump(),
            "\"a\uFFFDb\uFFFD\"");
  EXPECT_EQ(shown("\x1b[31m\U0001F917"), R"("\u001b[31m\ud83e\udd17")");
}

TEST(Json, RefusesWhatIsNotJson) {
  for (const char* text : {"",
                           " ",
                           "{",
                           "[",
                           "[1,]",
                           "[,1]",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{\"a\":1,}",
                           "{a:1}",
                           "{'a':1}",
                           "01",
                           "-",
                           "+1",
                           ".5",
                           "1.",
                           "1e",
                           "1e+",
                           "0x10",
                           "nan",
                           "Infinity",
                           "tru",
                           "truee",
                           "nullx",
                           "\"",
                           "\"\\x\"",
                           "\"\\u12\"",
                           "\"\\u12g4\"",
                           "\"\\ud800\"",
                           "\"\\udc00\"",
                           "\"\\ud800\\u0041\"",
                           "\"a\nb\"",
                           "1 2",
                           "{} {}",
                           "[1 2]",
                           "// x\n1",
                           "\"\t\""})
    EXPECT_EQ(refusal(text).find("x.json: not valid JSON at byte "), 0u) << text << " " << refusal(text);
  EXPECT_EQ(refusal("[1, x]"), "x.json: not valid JSON at byte 5 of 6");
  EXPECT_EQ(refusal("\"a\xff\""), "x.json: bad UTF-8 in the JSON at byte 3 of 4");
  EXPECT_EQ(refusal(std::string_view("1\0", 2)), "x.json: not valid JSON at byte 2 of 2");
  EXPECT_EQ(refusal("[1e999]"), "x.json: the JSON has a number out of range");
  EXPECT_EQ(refusal(R"({"a":1,"\u0061":2})"), "x.json: the JSON has \"a\" twice in one object");
  EXPECT_EQ(refusal(std::string(100000, '[')),
            "x.json: the JSON is nested more than 64 deep (kDeepestJson in attend/base/limits.h)");
  EXPECT_EQ(refusal(std::string(64, '[') + std::string(64, ']')), "taken");
  EXPECT_EQ(refusal("\xEF\xBB\xBF{}"), "taken");
}

}  // namespace
}  // namespace attend
