// A .safetensors file whose header stays one: entries are changed, and mostly laid out anew behind one another, for a
// file whose offsets do not fit is refused before anything else is looked at.
#include <algorithm>
#include <cstring>

#include "attend/base/error.h"
#include "fuzz/shared/mutate.h"

namespace attend::fuzz {

namespace {

constexpr std::size_t kLengthBytes = 8, kMostBytes = 8192;

std::size_t width_of(const Json& type) {
  if (!type.is_string()) return 1;
  const std::string& name = type.text();
  return name.ends_with("64") ? 8 : name.ends_with("32") ? 4 : name.ends_with("16") ? 2 : 1;
}

// The bytes of a tensor, no more than a fuzzer's input may have.
std::size_t bytes_of(const Json& entry) {
  std::size_t bytes = width_of(entry["dtype"]);
  for (const Json& extent : entry["shape"])
    bytes *= extent.is_number_unsigned() ? std::min<std::size_t>(extent.get<std::uint64_t>(), kMostBytes) : 1;
  return std::min(bytes, kMostBytes);
}

void lay_out(Json& header, std::string& block) {
  std::size_t at = 0;
  for (const auto& [name, constant] : header.items()) {
    Json& entry = const_cast<Json&>(constant);
    if (name == "__metadata__" || !entry.is_object()) continue;
    const std::size_t end = at + bytes_of(entry);
    entry["data_offsets"] = Json::array({at, end});
    at = end;
  }
  block.resize(std::min(at, kMostBytes));
}

void add_tensor(Json& header, const Schema& schema, Chance& chance) {
  static constexpr const char* kTypes[] = {"F64", "F32", "F16", "BF16", "I64", "I32", "I16",
                                           "I8",  "U64", "U32", "U16",  "U8",  "BOOL"};
  const Json* name = schema.value("@tensors", chance);
  Json shape = Json::array();
  for (std::size_t rank = chance.below(4); rank-- > 0;) shape.push_back(chance.below(9));
  if (const Json* known = schema.value("shape", chance)) shape = *known;
  header[name ? name->text() : std::string(1, static_cast<char>('a' + chance.below(26)))] = {
      {"dtype", kTypes[chance.below(std::size(kTypes))]}, {"shape", shape}, {"data_offsets", Json::array({0, 0})}};
}

// A small whole number somewhere in the block, as ids and lengths are.
void put_number(std::string& block, Chance& chance) {
  const std::size_t width = chance.once_in(2) ? 8 : 4;
  if (block.size() < width) return;
  const std::int64_t value = static_cast<std::int64_t>(chance.below(40)) - 2;
  std::memcpy(block.data() + chance.below(block.size() / width) * width, &value, width);
}

}  // namespace

std::string mutate_safetensors(const std::string& bytes, const Schema& schema, Chance& chance) {
  std::uint64_t length = 0;
  check(bytes.size() >= kLengthBytes, "too short");
  std::memcpy(&length, bytes.data(), kLengthBytes);
  check(length <= bytes.size() - kLengthBytes, "too short");
  Json header = Json::parse(std::string_view(bytes).substr(kLengthBytes, length));
  std::string block = bytes.substr(kLengthBytes + length);
  check(header.is_object(), "not a header");
  switch (chance.below(6)) {
    case 0:
      block = mutate_bytes(block, chance);
      break;
    case 1:
    case 2:
      put_number(block, chance);
      break;
    case 3:
      add_tensor(header, schema, chance);
      break;
    default:
      mutate_json(header, schema, chance);
  }
  if (header.is_object() && !chance.once_in(6)) lay_out(header, block);
  const std::string text = header.dump();
  length = text.size();
  std::string result(kLengthBytes, '\0');
  std::memcpy(result.data(), &length, kLengthBytes);
  return result + text + block;
}

}  // namespace attend::fuzz
