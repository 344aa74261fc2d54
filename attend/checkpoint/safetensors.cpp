#include "attend/checkpoint/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/json.h"

namespace attend::checkpoint {

namespace {

static_assert(std::endian::native == std::endian::little, "safetensors are little endian, and are read as they lie");

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kLongestHeader = 100'000'000;  // what the reference library allows

// What people open by mistake, told by its first bytes. A header of 640 bytes begins as a pickle does: where a JSON
// object follows the length, it is none.
void check_not_another_format(std::string_view start, const std::string& source) {
  using namespace std::string_view_literals;
  if (start.substr(kLengthBytes).starts_with('{')) return;
  check(!start.starts_with("PK\x03\x04"sv) && !start.starts_with("\x80\x02"sv),
        "{}: a PyTorch pickle, not safetensors; attend convert makes those of it", source);
  check(!start.starts_with("version "sv), "{}: a Git LFS pointer, not the model itself; fetch it with git lfs pull",
        source);
}

std::uint64_t header_length(std::span<const std::byte> file, const std::string& source) {
  check(file.size() >= kLengthBytes, "{}: not a safetensors file: {} bytes is too short for a header", source,
        file.size());
  check_not_another_format({reinterpret_cast<const char*>(file.data()), std::min(file.size(), kLengthBytes + 1)},
                           source);
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), kLengthBytes);
  check(length <= kLongestHeader, "{}: not a safetensors file: the header claims {} bytes, and {} is the limit", source,
        length, kLongestHeader);
  check(length <= file.size() - kLengthBytes, "{}: truncated: the header claims {} bytes, but only {} follow", source,
        length, file.size() - kLengthBytes);
  return length;
}

// One entry of the header, before its offsets are held against the others'.
struct Entry {
  StoredTensor tensor;
  std::uint64_t begin = 0, end = 0;
};

class EntryReader {
 public:
  EntryReader(const std::string& source, const std::string& name, const Json& fields)
      : source_(source), name_(name), fields_(fields) {}

  Entry read() const {
    demand(fields_.is_object(), "is not an object");
    Entry entry;
    entry.tensor.name = name_;
    entry.tensor.type = type();
    const std::uint64_t bytes = read_shape(entry.tensor);
    read_offsets(entry);
    demand(entry.end - entry.begin == bytes, "is {} {}, which takes {} bytes, but its offsets [{}, {}] span {}",
           name_of(entry.tensor.type), entry.tensor.shape, bytes, entry.begin, entry.end, entry.end - entry.begin);
    return entry;
  }

 private:
  template <class... Args>
  void demand(bool ok, fmt::format_string<Args...> format, Args&&... args) const {
    if (!ok) fail("{}: tensor {} {}", source_, shown(name_), fmt::format(format, std::forward<Args>(args)...));
  }

  const Json& field(const char* key) const {
    const auto found = fields_.find(key);
    demand(found != fields_.end(), "has no {}", key);
    return *found;
  }

  StoredType type() const {
    const Json& name = field("dtype");
    demand(name.is_string(), "has a dtype that is not a string");
    const auto& text = name.text();
    const std::optional<StoredType> type = stored_type_named(text);
    demand(type.has_value(), "has dtype {}, which is unknown here", shown(text));
    return *type;
  }

  std::uint64_t whole_number(const Json& number, const char* what) const {
    demand(number.is_number_unsigned(), "has a {} that is not a whole number from 0 to 2^64 - 1", what);
    return number.get<std::uint64_t>();
  }

  // Fills in the shape and returns how many bytes it takes. A product that overflows is refused even where another
  // dimension is 0: later code multiplies the dimensions in other orders.
  std::uint64_t read_shape(StoredTensor& tensor) const {
    const Json& dims = field("shape");
    demand(dims.is_array(), "has a shape that is not an array");
    demand(dims.size() <= Shape::kMaxRank, "has {} dimensions, and {} is the limit", dims.size(), Shape::kMaxRank);
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    std::uint64_t bytes = bytes_of(tensor.type);
    bool empty = false;
    for (const Json& dim : dims) {
      const std::uint64_t extent = whole_number(dim, "dimension");
      empty = empty || extent == 0;
      demand(extent == 0 || bytes <= kMost / extent, "has a shape whose size overflows: {}", dims.dump());
      bytes *= std::max<std::uint64_t>(extent, 1);
      tensor.shape.append(static_cast<std::int64_t>(extent));
    }
    return empty ? 0 : bytes;
  }

  void read_offsets(Entry& entry) const {
    const Json& offsets = field("data_offsets");
    demand(offsets.is_array() && offsets.size() == 2, "has data_offsets that are not two numbers");
    entry.begin = whole_number(offsets[0], "data offset");
    entry.end = whole_number(offsets[1], "data offset");
    demand(entry.begin <= entry.end, "has its data offsets reversed: [{}, {}]", entry.begin, entry.end);
  }

  const std::string& source_;
  const std::string& name_;
  const Json& fields_;
};

// Sorted by where they begin, every tensor must start where the one before it ends, and the last must end with the
// file.
void place(std::vector<Entry>& entries, std::span<const std::byte> block, const std::string& source) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.begin, a.end, a.tensor.name) < std::tie(b.begin, b.end, b.tensor.name);
  });
  std::uint64_t covered = 0;
  const std::string* before = nullptr;
  for (Entry& entry : entries) {
    StoredTensor& tensor = entry.tensor;
    check(entry.end <= block.size(), "{}: tensor {} lies out of range: it ends at byte {} of the data, which has {}",
          source, shown(tensor.name), entry.end, block.size());
    check(entry.begin >= covered, "{}: tensor {} begins at byte {}, and so overlaps {}, which ends at {}", source,
          shown(tensor.name), entry.begin, before ? shown(*before) : "", covered);
    check(entry.begin == covered, "{}: tensor {} begins at byte {}, and bytes {} to {} belong to none", source,
          shown(tensor.name), entry.begin, covered, entry.begin);
    tensor.bytes = block.subspan(entry.begin, entry.end - entry.begin);
    covered = entry.end;
    before = &tensor.name;
  }
  check(covered == block.size(), "{}: the tensors end at byte {} of the data, but there are {}", source, covered,
        block.size());
}

std::map<std::string, std::string> read_metadata(const Json& fields, const std::string& source) {
  check(fields.is_object(), "{}: __metadata__ is not an object", source);
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : fields.items()) {
    check(value.is_string(), "{}: {} in __metadata__ is not a string", source, shown(key));
    metadata.emplace(key, value.text());
  }
  return metadata;
}

struct Contents {
  std::vector<StoredTensor> tensors;
  std::map<std::string, std::string> metadata;
};

Contents read_contents(std::span<const std::byte> file, const std::string& source) {
  const std::uint64_t length = header_length(file, source);
  const auto header = file.subspan(kLengthBytes, length), block = file.subspan(kLengthBytes + length);
  const std::string_view text(reinterpret_cast<const char*>(header.data()), header.size());
  check(text.starts_with('{'), "{}: not a safetensors file: the header is not a JSON object", source);
  constexpr int kDeepest = 3;  // {"name": {"shape": [..]}}
  const Json root = parse_json(text, source, {.depth = kDeepest});
  Contents contents;
  std::vector<Entry> entries;
  for (const auto& [name, fields] : root.items()) {
    if (name == "__metadata__")
      contents.metadata = read_metadata(fields, source);
    else
      entries.push_back(EntryReader(source, name, fields).read());
  }
  place(entries, block, source);
  contents.tensors.reserve(entries.size());
  for (Entry& entry : entries) contents.tensors.push_back(std::move(entry.tensor));
  return contents;
}

}  // namespace

Safetensors Safetensors::open(const std::string& path) {
  MappedFile file(path);
  Contents read = read_contents(file.bytes(), path);
  std::vector<MappedFile> files;
  files.push_back(std::move(file));
  return Safetensors(TensorFile(path, std::move(files), std::move(read.tensors), std::move(read.metadata)));
}

Safetensors Safetensors::view(std::span<const std::byte> bytes, std::string source) {
  Contents read = read_contents(bytes, source);
  return Safetensors(TensorFile(std::move(source), {}, std::move(read.tensors), std::move(read.metadata)));
}

}  // namespace attend::checkpoint
