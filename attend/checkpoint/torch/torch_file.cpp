#include "attend/checkpoint/torch/torch_file.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/base/limits.h"
#include "attend/checkpoint/torch/byte_reader.h"
#include "attend/checkpoint/torch/pickle_machine.h"
#include "attend/checkpoint/torch/state_dict.h"
#include "attend/checkpoint/torch/zip_archive.h"

namespace attend::checkpoint::torch {

namespace {

using Kind = Value::Kind;
using Bytes = std::span<const std::byte>;

// A pickle, and the bytes of each storage that it names.
struct Saved {
  Pickle pickle;
  std::map<std::string_view, Bytes> storages;
};

std::string_view as_text(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// ---- The zip format: NAME/data.pkl, NAME/data/0, NAME/data/1, .., NAME/version and, since torch 2.1, NAME/byteorder.

Saved read_archive(Bytes file, const std::string& source) {
  constexpr std::string_view kPickle = "/data.pkl";
  std::map<std::string_view, Bytes> entries;
  for (const ZipEntry& entry : read_zip(file, source)) entries.emplace(entry.name, entry.bytes);
  std::vector<std::string_view> roots;
  for (const auto& [name, bytes] : entries)
    if (name.ends_with(kPickle) && name.find('/') == name.size() - kPickle.size())
      roots.push_back(name.substr(0, name.size() - kPickle.size()));
  check(roots.size() == 1, "{}: a zip archive with {} entries NAME/data.pkl, where a file of torch's has one", source,
        roots.size());
  const std::string root(roots[0]);
  check(!entries.contains(root + "/constants.pkl"),
        "{}: a TorchScript program, not weights; torch.save(model.state_dict(), ..) writes those", source);
  if (const auto order = entries.find(root + "/byteorder"); order != entries.end())
    check(as_text(order->second) == "little", "{}: its numbers are of byte order {}, and only little is read", source,
          shown(as_text(order->second).substr(0, limits::kLongestGlobal)));
  const Bytes pickle = entries.at(root + std::string(kPickle));
  Saved saved{read_pickle(pickle, 0, source), {}};
  check(saved.pickle.bytes == pickle.size(), "{}: {} bytes follow the pickle in its entry", source,
        pickle.size() - saved.pickle.bytes);
  const std::string folder = root + "/data/";
  for (const auto& [name, bytes] : entries)
    if (name.starts_with(folder)) saved.storages.emplace(name.substr(folder.size()), bytes);
  return saved;
}

// ---- The pickles in a row: a magic number, 1001, the writer's sizes, the object, the keys of its storages; then each
// storage in that order, the number of its elements in front.

constexpr std::string_view kMagic = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
constexpr std::int64_t kFormatVersion = 1001;

void check_writer(const Pickle& pickle, const std::string& source) {
  check(pickle.root.is_dict(), "{}: its third pickle is not about the machine that wrote it", source);
  const std::vector<Value>& items = pickle.items(pickle.root);
  for (std::size_t i = 0; i < items.size(); i += 2)
    check(items[i].text != "little_endian" || (items[i + 1].kind == Kind::boolean && items[i + 1].integer == 1),
          "{}: its numbers are big endian, which is not read", source);
}

// How wide the elements of each storage are. A key that is used twice must stand for one storage.
std::map<std::string_view, std::pair<std::uint64_t, std::uint64_t>> storage_sizes(const Pickle& pickle,
                                                                                  const std::string& source) {
  std::map<std::string_view, std::pair<std::uint64_t, std::uint64_t>> sizes;  // elements, bytes of each
  for (const StorageReference& storage : pickle.storages) {
    const std::pair size{storage.elements, std::uint64_t{storage.type ? bytes_of(*storage.type) : 1}};
    check(sizes.emplace(storage.key, size).first->second == size, "{}: storage {} has two sizes", source,
          shown(storage.key));
  }
  return sizes;
}

Saved read_stream(Bytes file, const std::string& source) {
  std::size_t at = 0;
  const auto next = [&] {
    Pickle pickle = read_pickle(file, at, source);
    at += pickle.bytes;
    return pickle;
  };
  const Pickle magic = next();
  check(magic.root.kind == Kind::large_integer && magic.root.text == kMagic,
        "{}: a pickle, but not one that torch.save wrote", source);
  const Pickle version = next();
  check(version.root.kind == Kind::integer && version.root.integer == kFormatVersion,
        "{}: its format has a version other than {}", source, kFormatVersion);
  check_writer(next(), source);
  Saved saved{next(), {}};
  const auto sizes = storage_sizes(saved.pickle, source);
  const Pickle keys = next();
  check(keys.root.kind == Kind::list, "{}: its last pickle is not a list of storages", source);
  ByteReader reader(file, source, at);
  for (const Value& key : keys.items(keys.root)) {
    const auto size = key.kind == Kind::text ? sizes.find(key.text) : sizes.end();
    check(size != sizes.end(), "{}: it lists a storage that no tensor has", source);
    const auto [elements, width] = size->second;
    const auto written = reader.number<std::uint64_t>();
    check(written == elements, "{}: storage {} has {} elements where it lies, and {} in the pickle", source,
          shown(key.text), written, elements);
    check(elements <= reader.left() / width, "{}: cut short: storage {} has {} elements of {} bytes, and {} follow",
          source, shown(key.text), elements, width, reader.left());
    check(saved.storages.emplace(size->first, reader.take(elements * width)).second, "{}: storage {} is there twice",
          source, shown(key.text));
  }
  check(reader.left() == 0, "{}: {} bytes follow the last storage", source, reader.left());
  return saved;
}

// ---- What both have in common.

bool in_rows_already(const TensorReference& tensor) {
  std::int64_t expected = 1;
  for (int i = tensor.shape.rank(); i-- > 0;) {
    if (tensor.shape[i] != 1 && tensor.strides[static_cast<std::size_t>(i)] != expected) return false;
    expected *= tensor.shape[i];
  }
  return true;
}

// Elements from the first that the tensor has to behind its last; nothing where that overflows.
std::optional<std::uint64_t> reach_of(const TensorReference& tensor) {
  if (tensor.shape.size() == 0) return 0;
  std::uint64_t reach = 1;
  for (int i = 0; i < tensor.shape.rank(); ++i) {
    const auto steps = static_cast<std::uint64_t>(tensor.shape[i] - 1);
    std::uint64_t span = 0;
    if (__builtin_mul_overflow(steps, static_cast<std::uint64_t>(tensor.strides[static_cast<std::size_t>(i)]), &span) ||
        __builtin_add_overflow(reach, span, &reach))
      return std::nullopt;
  }
  return reach;
}

StoredTensor placed(const NamedTensor& named, const Saved& saved, const std::string& source) {
  const TensorReference& tensor = saved.pickle.tensors[named.tensor];
  const StorageReference& storage = saved.pickle.storages[tensor.storage];
  const auto found = saved.storages.find(storage.key);
  check(found != saved.storages.end(), "{}: tensor {} lies in storage {}, which is not there", source,
        shown(named.name), shown(storage.key));
  const std::uint64_t unit = storage.type ? bytes_of(*storage.type) : 1, width = bytes_of(tensor.type);
  check(found->second.size() % unit == 0 && found->second.size() / unit == storage.elements,
        "{}: storage {} has {} elements of {} bytes in the pickle, and {} bytes where it lies", source,
        shown(storage.key), storage.elements, unit, found->second.size());
  const Bytes window = found->second.subspan(static_cast<std::size_t>(storage.window_begin * unit),
                                             static_cast<std::size_t>(storage.window_elements * unit));
  const std::uint64_t there = window.size() / width;
  const std::optional<std::uint64_t> reach = reach_of(tensor);
  check(reach && tensor.offset <= there && *reach <= there - tensor.offset,
        "{}: tensor {}, {} from element {} on, lies beyond storage {}, which has {}", source, shown(named.name),
        tensor.shape, tensor.offset, shown(storage.key), there);
  StoredTensor result{.name = named.name, .type = tensor.type, .shape = tensor.shape, .bytes = {}};
  result.bytes =
      window.subspan(static_cast<std::size_t>(tensor.offset * width), static_cast<std::size_t>(*reach * width));
  if (*reach > 0 && !in_rows_already(tensor))
    result.strides.assign(tensor.strides.begin(), tensor.strides.begin() + tensor.shape.rank());
  return result;
}

struct Read {
  std::vector<StoredTensor> tensors;
  std::vector<std::string> left_out;
};

Read read_torch(Bytes file, const std::string& source) {
  constexpr std::string_view kTar = "ustar", kLfs = "version https://git-lfs";
  constexpr std::size_t kTarMark = 257;
  const std::string_view text = as_text(file);
  check(!text.starts_with(kLfs), "{}: a Git LFS pointer, not the model itself; fetch it with git lfs pull", source);
  check(text.size() < kTarMark || !text.substr(kTarMark).starts_with(kTar),
        "{}: a tar archive, torch's format before version 0.1.10, which is not read; torch.load and torch.save make a "
        "newer file of it",
        source);
  check(is_torch_file(file), "{}: not a file that torch.save wrote: neither a zip archive nor a pickle", source);
  const Saved saved = is_zip(file) ? read_archive(file, source) : read_stream(file, source);
  StateDict state = find_state_dict(saved.pickle, source);
  Read read{{}, std::move(state.left_out)};
  const std::uint64_t most = file.size() * limits::kTorchGrowth + limits::kSmallTensors;
  std::uint64_t bytes = 0;
  for (const NamedTensor& named : state.tensors) {
    read.tensors.push_back(placed(named, saved, source));
    const std::uint64_t size = read.tensors.back().size_in_bytes();
    check(size <= most - bytes,
          "{}: tensor {}, {}, and those before it would take more than {} bytes, from a file of {}", source,
          shown(named.name), read.tensors.back().shape, most, file.size());
    bytes += size;
  }
  return read;
}

}  // namespace

TorchFile open_torch_file(const std::filesystem::path& path) {
  MappedFile file(path);
  Read read = read_torch(file.bytes(), path.string());
  file.check_whole();
  std::vector<MappedFile> files;
  files.push_back(std::move(file));
  return {TensorFile(path.string(), std::move(files), std::move(read.tensors)), std::move(read.left_out)};
}

TorchFile view_torch_file(std::span<const std::byte> bytes, std::string source) {
  Read read = read_torch(bytes, source);
  return {TensorFile(std::move(source), {}, std::move(read.tensors)), std::move(read.left_out)};
}

bool is_torch_file(std::span<const std::byte> bytes) {
  constexpr std::string_view kTar = "ustar";
  const std::string_view text = as_text(bytes);
  const bool pickle = text.size() >= 2 && text[0] == '\x80' && text[1] >= 2 && text[1] <= 5;
  return is_zip(bytes) || pickle || (text.size() > 262 && text.substr(257, kTar.size()) == kTar);
}

}  // namespace attend::checkpoint::torch
