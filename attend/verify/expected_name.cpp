#include "attend/verify/expected_name.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "attend/base/error.h"

namespace attend::verify {

namespace {

// "", "7": value stays or becomes the number. False for anything else.
bool read_number(std::string_view text, std::int64_t& value) {
  if (text.empty()) return true;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0;
}

// ":", "::16", "2:9", "2:9:3".
bool read_range(std::string_view text, SliceRange& range) {
  const std::size_t first = text.find(':');
  if (first == std::string_view::npos) return false;
  const std::size_t second = std::min(text.find(':', first + 1), text.size());
  return read_number(text.substr(0, first), range.begin) &&
         read_number(text.substr(first + 1, second - first - 1), range.end) &&
         read_number(second < text.size() ? text.substr(second + 1) : "", range.step) && range.step > 0;
}

}  // namespace

std::int64_t SliceRange::count(std::int64_t size) const {
  const std::int64_t last = std::min(end, size);
  return begin < last ? (last - begin - 1) / step + 1 : 0;
}

ExpectedName parse_expected_name(std::string_view name, std::string_view what) {
  const std::size_t bracket = name.find('[');
  ExpectedName parsed{std::string(name.substr(0, bracket)), {}};
  if (bracket == std::string_view::npos) return parsed;
  bool right = name.ends_with(']');
  std::string_view rest = right ? name.substr(bracket + 1, name.size() - bracket - 2) : "";
  while (right && !rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    parsed.ranges.emplace_back();
    right = read_range(rest.substr(0, comma), parsed.ranges.back());
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    while (rest.starts_with(' ')) rest.remove_prefix(1);
  }
  check(right && !parsed.ranges.empty(), "{}: the name {} does not end in a slice such as [:, ::16]", what,
        shown(name));
  return parsed;
}

Shape sliced(const Shape& shape, const ExpectedName& name) {
  if (name.ranges.empty()) return shape;
  check(static_cast<std::int64_t>(name.ranges.size()) == shape.rank(), "'{}' is {} here, but the slice has {} ranges",
        name.tensor, shape, name.ranges.size());
  Shape result = shape;
  for (std::size_t i = 0; i < name.ranges.size(); ++i) {
    const int dimension = static_cast<int>(i);
    result.set(dimension, name.ranges[i].count(shape[dimension]));
  }
  return result;
}

std::vector<std::size_t> slice_indices(const Shape& shape, const ExpectedName& name) {
  std::vector<std::size_t> indices = {0};
  for (std::size_t i = 0; i < name.ranges.size(); ++i) {  // each dimension multiplies what those before it chose
    const auto size = static_cast<std::size_t>(shape[static_cast<int>(i)]);
    const SliceRange& range = name.ranges[i];
    const std::int64_t count = range.count(shape[static_cast<int>(i)]);
    std::vector<std::size_t> finer;
    finer.reserve(indices.size() * static_cast<std::size_t>(count));
    for (const std::size_t index : indices)
      for (std::int64_t at = 0; at < count; ++at)
        finer.push_back(index * size + static_cast<std::size_t>(range.begin + at * range.step));
    indices = std::move(finer);
  }
  return indices;
}

}  // namespace attend::verify
