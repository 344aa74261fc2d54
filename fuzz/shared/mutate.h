// Changes to an input that leave it readable, so that they come through the first check and reach the code behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "attend/base/json.h"

namespace attend::fuzz {

class Chance {
 public:
  explicit Chance(unsigned seed) : engine_(seed) {}
  std::size_t below(std::size_t count) { return count == 0 ? 0 : engine_() % count; }
  bool once_in(std::size_t times) { return below(times) == 0; }

 private:
  std::minstd_rand engine_;
};

// What may stand where (Target::schema).
class Schema {
 public:
  explicit Schema(const char* text);
  // One of the values known under a key; null when none is.
  const Json* value(std::string_view key, Chance& chance) const;
  std::string key(Chance& chance) const;   // a known one; empty when none is
  std::string word(Chance& chance) const;  // of "@words"

 private:
  Json values_;
};

// libFuzzer's own changes.
std::string mutate_bytes(std::string bytes, Chance& chance);

void mutate_json(Json& json, const Schema& schema, Chance& chance);
// A value of the other under a key that both have takes the place of this one's.
void cross_json(Json& json, Json& other, Chance& chance);

// Files by their names; bytes that are not what the name says are changed as bytes.
std::string mutate_file(std::string_view name, const std::string& bytes, const Schema& schema, Chance& chance);
std::string mutate_safetensors(const std::string& bytes, const Schema& schema, Chance& chance);
// A protocol buffer, field by field.
std::string mutate_message(const std::string& bytes, Chance& chance);

}  // namespace attend::fuzz
