// Where the reference outputs of public libraries are: tests/fixtures/data, or with ATTEND_FIXTURES=DIR that folder,
// which may hold other cases of the same kinds. Tests read the names, sizes and settings of a case from its files, and
// run every case that they find: what DIR lacks is skipped, what the tests' own folder lacks is a failure.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/json.h"

namespace attend::test {

inline bool fixtures_given() { return std::getenv("ATTEND_FIXTURES") != nullptr; }

// The folder of one kind, "models", "vision", "text" or "images": that of DIR, or DIR itself where it has none.
inline std::filesystem::path fixtures(const std::string& kind) {
  const char* given = std::getenv("ATTEND_FIXTURES");
  const std::filesystem::path folder = given ? given : "tests/fixtures/data";
  return std::filesystem::is_directory(folder / kind) ? folder / kind : folder;
}

// A JSON file of one kind. None where ATTEND_FIXTURES has no such file; where the tests' own folder has none, it
// throws.
inline std::optional<Json> fixture_json(const std::string& kind, const std::string& name) {
  const std::filesystem::path path = fixtures(kind) / name;
  if (fixtures_given() && !std::filesystem::exists(path)) return std::nullopt;
  return read_json(path);
}
inline constexpr const char* kNoFixture = "ATTEND_FIXTURES has no case of this kind";

// One case: its name, the folder its files are in, and what is written about it (case.json, or its part of a list).
struct FixtureCase {
  std::string name;
  std::filesystem::path folder = {};  // none: there is no case of that kind
  Json notes = {};

  std::string kind() const { return notes["kind"].is_string() ? notes["kind"].text() : ""; }
};
inline void PrintTo(const FixtureCase& example, std::ostream* out) { *out << example.name; }

// A case that is skipped, in place of none at all, where the folder is not the tests' own. GoogleTest itself reports a
// suite without a case.
inline std::vector<FixtureCase> or_skipped(std::vector<FixtureCase> cases) {
  if (cases.empty() && fixtures_given()) cases.push_back({"none"});
  return cases;
}

// The folders of fixtures(kind) with a case.json, by name. One that cannot be read has no kind.
inline std::vector<FixtureCase> fixture_folders(const std::string& kind) {
  namespace fs = std::filesystem;
  std::vector<FixtureCase> cases;
  if (!fs::is_directory(fixtures(kind))) return cases;
  for (const auto& entry : fs::directory_iterator(fixtures(kind))) {
    if (!fs::exists(entry.path() / "case.json")) continue;
    FixtureCase found{entry.path().filename().string(), entry.path()};
    try {
      found.notes = read_json(entry.path() / "case.json");
      check(found.notes.is_object(), "{}: not a JSON object", entry.path().string());
    } catch (const std::exception& error) {
      found.notes = {{"error", error.what()}};
    }
    cases.push_back(std::move(found));
  }
  std::ranges::sort(cases, {}, &FixtureCase::name);
  return cases;
}

// Those of them that are wanted.
template <class Wanted>
std::vector<FixtureCase> fixture_folders(const std::string& kind, Wanted wanted) {
  std::vector<FixtureCase> cases = fixture_folders(kind);
  std::erase_if(cases, [&](const FixtureCase& example) { return !wanted(example); });
  return or_skipped(std::move(cases));
}

// A test's name has letters, digits and underscores only.
inline std::string test_name(std::string name) {
  for (char& letter : name)
    if (!std::isalnum(static_cast<unsigned char>(letter))) letter = '_';
  return name;
}

}  // namespace attend::test
