// Bytes, schemas, and which change a file gets by its name.
#include "fuzz/shared/mutate.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "attend/base/error.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace attend::fuzz {

namespace {

std::string mutate_lines(const std::string& bytes, const Schema& schema, Chance& chance) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at <= bytes.size();) {
    const std::size_t end = std::min(bytes.find('\n', at), bytes.size());
    lines.push_back(bytes.substr(at, end - at));
    at = end + 1;
  }
  const std::size_t line = chance.below(lines.size());
  if (chance.once_in(4)) {
    const std::string copy = lines[chance.below(lines.size())];
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(line), copy);
  } else {
    lines[line] = mutate_file("line.json", lines[line], schema, chance);
  }
  std::string all;
  for (const std::string& each : lines) all += (all.empty() ? "" : "\n") + each;
  return all;
}

}  // namespace

Schema::Schema(const char* text) : values_(Json::parse(text)) {}

const Json* Schema::value(std::string_view key, Chance& chance) const {
  const Json& list = values_[key];
  return list.is_array() && !list.empty() ? &list[chance.below(list.size())] : nullptr;
}

std::string Schema::key(Chance& chance) const {
  std::vector<std::string> keys;
  for (const auto& [name, list] : values_.items())
    if (!name.starts_with('@')) keys.push_back(name);
  return keys.empty() ? "" : keys[chance.below(keys.size())];
}

std::string Schema::word(Chance& chance) const {
  const Json* word = value("@words", chance);
  return word ? word->text() : "";
}

std::string mutate_bytes(std::string bytes, Chance& chance) {
  const std::size_t size = bytes.size(), most = size + 1 + chance.below(64);
  bytes.resize(most);
  bytes.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(bytes.data()), size, most));
  return bytes;
}

std::string mutate_file(std::string_view name, const std::string& bytes, const Schema& schema, Chance& chance) {
  try {
    if (name.ends_with(".json") && !chance.once_in(10)) {
      Json json = Json::parse(bytes);
      for (std::size_t changes = 1 + chance.below(3); changes-- > 0;) mutate_json(json, schema, chance);
      return json.dump();
    }
    if (name.ends_with(".jsonl")) return mutate_lines(bytes, schema, chance);
    if (name.ends_with(".safetensors") && !chance.once_in(10)) return mutate_safetensors(bytes, schema, chance);
    if (name.ends_with(".model") || name.ends_with(".spm")) return mutate_message(bytes, chance);
  } catch (const Error&) {  // it is not what its name says
  }
  if (const std::string word = schema.word(chance); !word.empty() && chance.once_in(4))
    return std::string(bytes).insert(chance.below(bytes.size() + 1), word);
  return mutate_bytes(bytes, chance);
}

}  // namespace attend::fuzz
