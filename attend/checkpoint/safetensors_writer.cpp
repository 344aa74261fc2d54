#include "attend/checkpoint/safetensors_writer.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/base/unicode/unicode.h"
#include "attend/tensor/backend.h"

namespace attend::checkpoint {

namespace {

constexpr std::size_t kAlignment = 8;

std::size_t bytes_in(StoredType type, const Shape& shape) {
  return static_cast<std::size_t>(shape.size()) * bytes_of(type);
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// In quotes.
std::string json_text(const std::string& text) {
  check(!find_invalid_utf8(text), "safetensors: a name or a piece of metadata is not valid UTF-8");
  return Json(text).dump();
}

// The length of the header and the header itself, filled up with spaces.
std::string with_length(std::string header) {
  header.resize((header.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  const std::uint64_t length = header.size();
  std::string prefix(sizeof length, '\0');
  std::memcpy(prefix.data(), &length, sizeof length);
  return prefix + header;
}

}  // namespace

void SafetensorsWriter::insert(const std::string& name, Entry entry) {
  check(name != "__metadata__", "safetensors: a tensor cannot be called __metadata__");
  const bool added = entries_.emplace(name, std::move(entry)).second;
  check(added, "safetensors: tensor {} was added twice", shown(name));
}

void SafetensorsWriter::add(const std::string& name, const Tensor& tensor) {
  check(tensor.defined(), "safetensors: tensor {} is undefined", shown(name));
  check(tensor.contiguous(), "safetensors: tensor {} has gaps between its rows", shown(name));
  insert(name, {stored_type_of(tensor.dtype()), tensor.shape(), {}, tensor, {}});
}

void SafetensorsWriter::add(const std::string& name, StoredType type, const Shape& shape,
                            std::span<const std::byte> bytes) {
  check(bytes.size() == bytes_in(type, shape), "safetensors: tensor {} is {} {}, which takes {} bytes, not {}",
        shown(name), name_of(type), shape, bytes_in(type, shape), bytes.size());
  insert(name, {type, shape, bytes, {}, {}});
}

void SafetensorsWriter::add(const std::string& name, StoredType type, const Shape& shape, Source source) {
  insert(name, {type, shape, {}, {}, std::move(source)});
}

void SafetensorsWriter::write(const std::string& path) const {
  write_file(path, [&](const FileWriter& write) { produce(write); });
}

void SafetensorsWriter::produce(const FileWriter& write) const {
  std::vector<std::pair<const std::string*, const Entry*>> order;
  for (const auto& [name, entry] : entries_) order.emplace_back(&name, &entry);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {  // the map has sorted the names
    return bytes_of(a.second->type) > bytes_of(b.second->type);
  });

  std::string header = "{";  // put together by hand: names in our order, without an object that sorts them
  if (!metadata_.empty()) {
    for (const auto& [name, value] : metadata_)
      header += fmt::format("{}{}:{}", header == "{" ? "\"__metadata__\":{" : ",", json_text(name), json_text(value));
    header += order.empty() ? "}" : "},";
  }
  std::size_t offset = 0;
  for (const auto& [name, entry] : order) {
    const std::size_t end = offset + bytes_in(entry->type, entry->shape);
    header += fmt::format("{}:{{\"dtype\":\"{}\",\"shape\":{},\"data_offsets\":[{},{}]}}", json_text(*name),
                          name_of(entry->type), entry->shape, offset, end);
    if (entry != order.back().second) header += ',';
    offset = end;
  }
  write(with_length(header + "}"));
  std::vector<std::byte> host;
  for (const auto& [name, entry] : order) {
    if (entry->source) {
      std::size_t written = 0;
      entry->source([&](std::string_view piece) {
        written += piece.size();
        write(piece);
      });
      check(written == bytes_in(entry->type, entry->shape), "safetensors: tensor {} is {} bytes, and {} were written",
            shown(*name), bytes_in(entry->type, entry->shape), written);
      continue;
    }
    if (entry->tensor.defined()) {
      host.resize(bytes_in(entry->type, entry->shape));
      entry->tensor.backend().to_host(host.data(), entry->tensor.raw(), host.size());
    }
    write(as_text(entry->tensor.defined() ? std::span<const std::byte>(host) : entry->bytes));
  }
}

}  // namespace attend::checkpoint
