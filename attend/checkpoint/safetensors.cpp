#include "attend/checkpoint/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/checkpoint/pickle.h"
#include "attend/checkpoint/quantised.h"
#include "attend/tensor/backend.h"

namespace attend {

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
        "{}: a PyTorch pickle, which can run code when it is read. To convert it: {}", source,
        how_to_convert(source, "model.safetensors"));
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

// Number i of a tensor's bytes, which may lie at any address.
template <class T>
T number(std::span<const std::byte> bytes, std::size_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

template <class From, class To>
void convert(std::span<const std::byte> bytes, std::vector<To>& into) {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = static_cast<To>(number<From>(bytes, i));
}

}  // namespace

Safetensors Safetensors::open(const std::string& path) {
  MappedFile file(path);
  const std::span<const std::byte> bytes = file.bytes();
  return Safetensors(std::move(file), bytes, path);
}

Safetensors Safetensors::view(std::span<const std::byte> bytes, std::string source) {
  return Safetensors(std::nullopt, bytes, std::move(source));
}

Safetensors::Safetensors(std::optional<MappedFile> file, std::span<const std::byte> bytes, std::string source)
    : source_(std::move(source)), file_(std::move(file)) {
  const std::uint64_t length = header_length(bytes, source_);
  read_header(bytes.subspan(kLengthBytes, length), bytes.subspan(kLengthBytes + length));
}

void Safetensors::read_header(std::span<const std::byte> header, std::span<const std::byte> block) {
  const std::string_view text(reinterpret_cast<const char*>(header.data()), header.size());
  check(text.starts_with('{'), "{}: not a safetensors file: the header is not a JSON object", source_);
  constexpr int kDeepest = 3;  // {"name": {"shape": [..]}}
  const Json root = parse_json(text, source_, {.depth = kDeepest});
  std::vector<Entry> entries;
  for (const auto& [name, fields] : root.items()) {
    if (name == "__metadata__")
      metadata_ = read_metadata(fields, source_);
    else
      entries.push_back(EntryReader(source_, name, fields).read());
  }
  place(entries, block, source_);
  tensors_.reserve(entries.size());
  for (Entry& entry : entries) tensors_.push_back(std::move(entry.tensor));
  for (std::size_t i = 0; i < tensors_.size(); ++i) index_.emplace(tensors_[i].name, i);
}

const StoredTensor* Safetensors::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

const StoredTensor& Safetensors::operator[](std::string_view name) const {
  const StoredTensor* tensor = find(name);
  check(tensor != nullptr, "{}: there is no tensor {} among its {}", source_, shown(name), tensors_.size());
  return *tensor;
}

std::vector<float> Safetensors::floats(std::string_view name) const {
  const StoredTensor& tensor = (*this)[name];
  std::vector<float> values(static_cast<std::size_t>(tensor.shape.size()));
  switch (tensor.type) {
    case StoredType::f32:
      if (!values.empty()) std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
      break;
    case StoredType::f64:
      convert<double>(tensor.bytes, values);
      break;
    case StoredType::f16:
      convert<Half>(tensor.bytes, values);
      break;
    case StoredType::bf16:
      convert<Bf16>(tensor.bytes, values);
      break;
    case StoredType::i8:
      return dequantise(*this, name);
    default:
      fail("{}: tensor {} is {}, not a float type", source_, shown(name), name_of(tensor.type));
  }
  check_whole();
  return values;
}

std::vector<std::int64_t> Safetensors::ints(std::string_view name) const {
  const StoredTensor& tensor = (*this)[name];
  std::vector<std::int64_t> values(static_cast<std::size_t>(tensor.shape.size()));
  switch (tensor.type) {
    case StoredType::i64:
      convert<std::int64_t>(tensor.bytes, values);
      break;
    case StoredType::i32:
      convert<std::int32_t>(tensor.bytes, values);
      break;
    case StoredType::i16:
      convert<std::int16_t>(tensor.bytes, values);
      break;
    case StoredType::i8:
      convert<std::int8_t>(tensor.bytes, values);
      break;
    case StoredType::u64:
      convert<std::uint64_t>(tensor.bytes, values);
      for (std::int64_t value : values)  // from 2^63 on it has become negative
        if (value < 0)
          fail("{}: tensor {} holds {}, which does not fit a signed 64-bit integer", source_, shown(name),
               static_cast<std::uint64_t>(value));
      break;
    case StoredType::u32:
      convert<std::uint32_t>(tensor.bytes, values);
      break;
    case StoredType::u16:
      convert<std::uint16_t>(tensor.bytes, values);
      break;
    case StoredType::u8:
      convert<std::uint8_t>(tensor.bytes, values);
      break;
    case StoredType::boolean:
      convert<std::uint8_t>(tensor.bytes, values);
      for (std::int64_t& value : values) value = value != 0;
      break;
    default:
      fail("{}: tensor {} is {}, not an integer type", source_, shown(name), name_of(tensor.type));
  }
  check_whole();
  return values;
}

void Safetensors::forget(std::string_view name) const {
  if (file_) file_->forget((*this)[name].bytes);
}

void Safetensors::load(std::string_view name, const Tensor& into) const {
  const StoredTensor& tensor = (*this)[name];
  check(into.defined(), "{}: tensor {} cannot be loaded into an undefined tensor", source_, shown(name));
  check(into.contiguous(), "{}: tensor {} cannot be loaded into rows with gaps between them", source_, shown(name));
  check(tensor.shape == into.shape(), "{}: tensor {} is {}, but the model wants {}", source_, shown(name), tensor.shape,
        into.shape());
  const bool bytes_as_they_are =
      tensor.type == stored_type_of(into.dtype()) || (tensor.type == StoredType::boolean && into.dtype() == DType::u8);
  if (bytes_as_they_are) {
    into.backend().to_device(into.raw(), tensor.bytes.data(), tensor.bytes.size());
    check_whole();
  } else if ((is_float(tensor.type) || tensor.type == StoredType::i8) && is_float(into.dtype())) {
    upload(into, floats(name));
  } else {
    check(!is_float(tensor.type) && into.dtype() == DType::i32, "{}: tensor {} is {}, which does not convert to {}",
          source_, shown(name), name_of(tensor.type), into.dtype());
    std::vector<std::int32_t> narrow;
    for (std::int64_t value : ints(name)) {
      if (!std::in_range<std::int32_t>(value))
        fail("{}: tensor {} holds {}, which does not fit i32", source_, shown(name), value);
      narrow.push_back(static_cast<std::int32_t>(value));
    }
    upload(into, narrow);
  }
}

}  // namespace attend
