#include "attend/base/json.h"

#include <algorithm>
#include <functional>
#include <ostream>

#include "attend/base/error.h"
#include "attend/base/files.h"

namespace attend {

// Names and values side by side, so that the values are a plain array. Beyond a few members, a table of slots finds a
// name: slot i holds 1 + the place of a member whose name's hash leads there, and 0 is free.
struct Json::Object {
  static constexpr std::size_t kFew = 8;

  std::vector<std::string> names;
  std::vector<Json> values;
  std::vector<std::uint32_t> slots;

  // The member's place, or the number of members.
  std::size_t find(std::string_view name) const {
    if (slots.empty()) return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    for (std::size_t slot = std::hash<std::string_view>{}(name);; ++slot) {
      const std::uint32_t place = slots[slot & (slots.size() - 1)];
      if (place == 0) return names.size();
      if (names[place - 1] == name) return place - 1;
    }
  }

  Json& add(std::string_view name) {
    check(names.size() < UINT32_MAX - 1, "JSON: an object of more than 4 billion members");
    names.emplace_back(name);
    values.emplace_back();
    if (names.size() > kFew) {
      if (names.size() * 2 > slots.size())
        index();
      else
        place(names.size() - 1);
    }
    return values.back();
  }

  void erase(std::size_t at) {
    names.erase(names.begin() + static_cast<std::ptrdiff_t>(at));
    values.erase(values.begin() + static_cast<std::ptrdiff_t>(at));
    slots.clear();
    if (names.size() > kFew) index();
  }

 private:
  void place(std::size_t at) {
    std::size_t slot = std::hash<std::string_view>{}(names[at]);
    while (slots[slot & (slots.size() - 1)] != 0) ++slot;
    slots[slot & (slots.size() - 1)] = static_cast<std::uint32_t>(at + 1);
  }
  void index() {
    std::size_t size = 32;
    while (size < names.size() * 4) size *= 2;
    slots.assign(size, 0);
    for (std::size_t at = 0; at < names.size(); ++at) place(at);
  }
};

Json::Json(std::string value) : type_(Type::string) { string_ = new std::string(std::move(value)); }

Json::Json(Type type) : type_(type) {
  if (type == Type::array)
    array_ = new std::vector<Json>;
  else if (type == Type::object)
    object_ = new Object;
}

Json::Json(std::initializer_list<Json> list) {
  const bool pairs = std::all_of(list.begin(), list.end(), [](const Json& item) {
    return item.is_array() && item.size() == 2 && item.front().is_string();
  });
  Json built(pairs ? Type::object : Type::array);
  for (const Json& item : list)
    if (pairs)
      built[item.front().text()] = item.back();
    else
      built.push_back(item);
  swap(built);
}

Json::Json(const Json& other) : type_(other.type_) {
  if (type_ == Type::string)
    string_ = new std::string(*other.string_);
  else if (type_ == Type::array)
    array_ = new std::vector<Json>(*other.array_);
  else if (type_ == Type::object)
    object_ = new Object(*other.object_);
  else
    natural_ = other.natural_;
}

void Json::destroy() noexcept {
  if (type_ == Type::string)
    delete string_;
  else if (type_ == Type::array)
    delete array_;
  else
    delete object_;
}

void Json::swap(Json& other) noexcept {
  std::swap(type_, other.type_);
  std::swap(natural_, other.natural_);  // every member of the union is 8 bytes or fewer
}

void Json::complain(const char* wanted) const {
  std::string text = dump();
  fail("JSON: expected {}, not {}", wanted, text.size() > 60 ? text.substr(0, 60) + ".." : text);
}

bool Json::as_boolean() const {
  if (type_ != Type::boolean) complain("true or false");
  return boolean_;
}

double Json::as_real() const {
  if (type_ == Type::real) return real_;
  if (type_ == Type::natural) return static_cast<double>(natural_);
  if (type_ != Type::negative) complain("a number");
  return static_cast<double>(static_cast<std::int64_t>(natural_));
}

std::int64_t Json::as_integer(std::int64_t least, std::int64_t most) const {
  if (!is_number_integer()) complain("a whole number");
  const auto value = static_cast<std::int64_t>(natural_);
  const bool fits = type_ == Type::negative ? value >= least : natural_ <= static_cast<std::uint64_t>(most);
  if (!fits) complain("a smaller whole number");
  return value;
}

std::uint64_t Json::as_natural(std::uint64_t most) const {
  if (type_ != Type::natural || natural_ > most) complain("a whole number, 0 or more");
  return natural_;
}

const std::string& Json::text() const {
  if (type_ != Type::string) complain("a string");
  return *string_;
}

const std::vector<Json>& Json::elements() const {
  if (type_ != Type::array) complain("a list");
  return *array_;
}

std::size_t Json::size() const {
  return type_ == Type::array ? array_->size() : type_ == Type::object ? object_->values.size() : 0;
}

Json* Json::begin() {
  return type_ == Type::array ? array_->data() : type_ == Type::object ? object_->values.data() : nullptr;
}

Json& Json::element(std::size_t index) {
  const std::size_t count = elements().size();
  check(index < count, "JSON: element {} of a list of {}", index, count);
  return (*array_)[index];
}

void Json::push_back(Json value) {
  if (is_null()) *this = array();
  if (type_ != Type::array) complain("a list");
  array_->push_back(std::move(value));
}

void Json::reserve(std::size_t count) {
  if (type_ == Type::array) array_->reserve(count);
}

Json::Object& Json::members() {
  if (type_ != Type::object) complain("an object");
  return *object_;
}

Json& Json::operator[](std::string_view name) {
  if (is_null()) *this = object();
  Object& object = members();
  const std::size_t at = object.find(name);
  return at < object.values.size() ? object.values[at] : object.add(name);
}

const Json& Json::operator[](std::string_view name) const {
  static const Json kMissing(nullptr);
  const Json* found = find(name);
  return found == end() ? kMissing : *found;
}

Json* Json::find(std::string_view name) { return type_ == Type::object ? begin() + object_->find(name) : end(); }

const Json& Json::at(std::string_view name) const {
  const Json* found = find(name);
  check(found != end(), "JSON: {} is missing", shown(name));
  return *found;
}

Json& Json::at(std::string_view name) { return const_cast<Json&>(static_cast<const Json*>(this)->at(name)); }

void Json::erase(std::string_view name) {
  Object& object = members();
  if (const std::size_t at = object.find(name); at < object.values.size()) object.erase(at);
}

void Json::update(const Json& other) {
  for (const auto& [name, value] : other.items()) (*this)[name] = value;
}

const std::string& Json::name_of(const Json* member) const {
  return const_cast<Json*>(this)->members().names[static_cast<std::size_t>(member - begin())];
}

Json::Items Json::items() const {
  if (type_ != Type::object) complain("an object");
  return Items(*this);
}

bool Json::equals(const Json& other) const {
  if (is_number() && other.is_number() && (type_ == Type::real || other.type_ == Type::real))
    return as_real() == other.as_real();
  if (type_ != other.type_) return false;
  switch (type_) {
    case Type::null:
      return true;
    case Type::boolean:
      return boolean_ == other.boolean_;
    case Type::string:
      return *string_ == *other.string_;
    case Type::array:
      return *array_ == *other.array_;
    case Type::object:
      return size() == other.size() && std::all_of(object_->names.begin(), object_->names.end(), [&](const auto& name) {
               return other.contains(name) && (*this)[name] == other[name];
             });
    default:
      return natural_ == other.natural_;
  }
}

Json Json::parse(std::string_view text) { return parse_json(text, "JSON"); }

bool Json::accept(std::string_view text) {
  try {
    parse(text);
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::ostream& operator<<(std::ostream& out, const Json& json) { return out << json.dump(); }

Json read_json(const std::filesystem::path& path) { return parse_json(read_file(path), path.string()); }

}  // namespace attend
