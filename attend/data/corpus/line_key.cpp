#include "attend/data/corpus/line_key.h"

#include <algorithm>
#include <string>
#include <utility>

#include "attend/base/hashing.h"
#include "attend/base/unicode/unicode.h"

namespace attend::data {

std::uint64_t line_key(std::string_view text) {
  thread_local std::string plain;
  plain.clear();
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_character(text, at);
    if (c == kInvalidCharacter) break;  // the caller has checked
    if (has_property(c, Property::letter | Property::number | Property::mark)) append_utf8(plain, lower_character(c));
  }
  return hash_text(plain.empty() ? text : std::string_view(plain));
}

std::uint64_t pair_key(std::uint64_t source, std::uint64_t target) { return hash_key(source * 3 + target); }

bool KeySet::add(std::uint64_t key) {
  key = std::max<std::uint64_t>(key, 1);
  if (3 * (size_ + 1) > 2 * slots_.size()) grow();
  std::uint64_t& slot = slots_[place_of(key)];
  if (slot == key) return false;
  slot = key;
  ++size_;
  return true;
}

bool KeySet::has(std::uint64_t key) const {
  key = std::max<std::uint64_t>(key, 1);
  return !slots_.empty() && slots_[place_of(key)] == key;
}

std::size_t KeySet::place_of(std::uint64_t key) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t place = hash_key(key) & mask;
  while (slots_[place] != 0 && slots_[place] != key) place = (place + 1) & mask;
  return place;
}

void KeySet::grow() {
  std::vector<std::uint64_t> old(std::max<std::size_t>(1024, 2 * slots_.size()));
  std::swap(old, slots_);
  for (const std::uint64_t key : old)
    if (key != 0) slots_[place_of(key)] = key;
}

}  // namespace attend::data
