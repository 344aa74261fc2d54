// A protocol buffer whose fields stay fields, as deep as they are messages themselves.
#include <utility>
#include <vector>

#include "attend/base/error.h"
#include "fuzz/shared/mutate.h"

namespace attend::fuzz {

namespace {

struct Field {
  std::uint64_t tag = 0, number = 0;
  std::string bytes;  // of tags that end in 2 (counted), 1 (eight) and 5 (four)
};

std::uint64_t take_number(std::string_view& rest) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    check(!rest.empty(), "too short");
    const auto byte = static_cast<unsigned char>(rest[0]);
    rest.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  fail("too long");
}

void put_number(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

std::vector<Field> fields_of(std::string_view rest) {
  std::vector<Field> fields;
  while (!rest.empty()) {
    Field field{.tag = take_number(rest)};
    const std::uint64_t kind = field.tag & 7;
    check(kind == 0 || kind == 1 || kind == 2 || kind == 5, "no such kind");
    if (kind == 0) {
      field.number = take_number(rest);
    } else {
      const std::uint64_t bytes = kind == 2 ? take_number(rest) : kind == 1 ? 8 : 4;
      check(bytes <= rest.size(), "too short");
      field.bytes = rest.substr(0, bytes);
      rest.remove_prefix(bytes);
    }
    fields.push_back(std::move(field));
  }
  return fields;
}

std::string joined(const std::vector<Field>& fields) {
  std::string out;
  for (const Field& field : fields) {
    put_number(out, field.tag);
    if ((field.tag & 7) == 0) put_number(out, field.number);
    if ((field.tag & 7) == 2) put_number(out, field.bytes.size());
    out += field.bytes;
  }
  return out;
}

void change(Field& field, Chance& chance) {
  if ((field.tag & 7) == 0) {
    field.number = chance.once_in(4) ? chance.below(1 << 30) : chance.below(8);
    return;
  }
  if ((field.tag & 7) != 2) {
    field.bytes[chance.below(field.bytes.size())] = static_cast<char>(chance.below(256));
    return;
  }
  try {
    check(!field.bytes.empty() && !chance.once_in(4), "as bytes");
    field.bytes = mutate_message(field.bytes, chance);
  } catch (const Error&) {
    field.bytes = mutate_bytes(field.bytes, chance);
  }
}

}  // namespace

std::string mutate_message(const std::string& bytes, Chance& chance) {
  std::vector<Field> fields = fields_of(bytes);
  check(!fields.empty(), "empty");
  const std::size_t at = chance.below(fields.size());
  const auto place = fields.begin() + static_cast<std::ptrdiff_t>(at);
  switch (chance.below(8)) {
    case 0:
      fields.erase(place);
      break;
    case 1: {
      const Field copy = fields[chance.below(fields.size())];
      fields.insert(place, copy);
      break;
    }
    case 2:
      std::swap(fields[at], fields[chance.below(fields.size())]);
      break;
    case 3:  // another field of the message
      fields.insert(place, {.tag = (1 + chance.below(50)) << 3, .number = chance.below(3)});
      break;
    default:
      change(fields[at], chance);
  }
  return joined(fields);
}

}  // namespace attend::fuzz
