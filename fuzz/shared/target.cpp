#include "fuzz/shared/target.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "fuzz/shared/mutate.h"

namespace attend::fuzz {

namespace {

constexpr std::string_view kMark = "==== ";

// The folder, and its end with the process.
struct Scratch {
  std::filesystem::path path;
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "attend-fuzz-XXXXXX").string();
    must(::mkdtemp(name.data()) != nullptr, "no folder for files");
    path = name;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

const Schema& schema() {
  static const Schema known(kTarget.schema);
  return known;
}

// What fits into the buffer of libFuzzer; 0 when it does not.
std::size_t put(const std::string& bytes, std::uint8_t* data, std::size_t most) {
  if (bytes.size() > most) return 0;
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}

}  // namespace

std::vector<Part> split_parts(std::string_view input, std::string_view name) {
  std::vector<Part> parts;
  if (!input.starts_with(kMark)) return {{std::string(name), std::string(input)}};
  while (input.starts_with(kMark)) {
    const std::size_t line = std::min(input.find('\n'), input.size());
    Part part{std::string(input.substr(kMark.size(), std::max(line, kMark.size()) - kMark.size())), {}};
    input.remove_prefix(std::min(line + 1, input.size()));
    const std::string next = "\n" + std::string(kMark);
    const std::size_t end = input.starts_with(kMark) ? 0 : std::min(input.find(next), input.size());
    part.bytes = input.substr(0, end);
    input.remove_prefix(end == 0 ? 0 : std::min(end + 1, input.size()));
    parts.push_back(std::move(part));
  }
  return parts;
}

std::string join_parts(const std::vector<Part>& parts) {
  if (parts.size() == 1 && parts[0].name == kTarget.file && !parts[0].bytes.starts_with(kMark)) return parts[0].bytes;
  std::string all;
  for (const Part& part : parts) {
    all += all.empty() ? "" : "\n";
    all += std::string(kMark) + part.name + "\n" + part.bytes;
  }
  return all;
}

std::string_view Input::operator[](std::string_view name) const {
  const auto found = std::ranges::find(parts_, name, &Part::name);
  return found == parts_.end() ? std::string_view() : found->bytes;
}

bool Input::has(std::string_view name) const { return std::ranges::find(parts_, name, &Part::name) != parts_.end(); }

void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: this must hold, and does not: %s\n", what);
  std::abort();
}

const std::filesystem::path& folder() {
  static const Scratch scratch;
  return scratch.path;
}

std::filesystem::path write(std::string_view name, std::string_view bytes) {
  std::filesystem::path path = folder() / name;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  must(file.good(), "a file could not be written");
  return path;
}

void remove(std::string_view name) {
  std::error_code ignored;
  std::filesystem::remove(folder() / name, ignored);
}

}  // namespace attend::fuzz

using namespace attend::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Input input(split_parts({reinterpret_cast<const char*>(data), size}, kTarget.file));
  attempt([&] { enter(input); });
  return 0;
}

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  Chance chance(seed);
  if (chance.once_in(16)) return LLVMFuzzerMutate(data, size, most);
  std::vector<Part> parts = split_parts({reinterpret_cast<const char*>(data), size}, kTarget.file);
  if (parts.size() > 1 && chance.once_in(32))
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(chance.below(parts.size())));
  Part& part = parts[chance.below(parts.size())];
  part.bytes = mutate_file(part.name, part.bytes, schema(), chance);
  if (kTarget.repair && !chance.once_in(8)) kTarget.repair(part);
  const std::size_t made = put(join_parts(parts), data, most);
  return made > 0 ? made : LLVMFuzzerMutate(data, size, most);
}

// A file of the other input, or a piece of its JSON.
extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* data, std::size_t size, const std::uint8_t* other,
                                                 std::size_t other_size, std::uint8_t* out, std::size_t most,
                                                 unsigned seed) {
  Chance chance(seed);
  std::vector<Part> parts = split_parts({reinterpret_cast<const char*>(data), size}, kTarget.file);
  const std::vector<Part> others = split_parts({reinterpret_cast<const char*>(other), other_size}, kTarget.file);
  const Part& from = others[chance.below(others.size())];
  const auto into = std::ranges::find(parts, from.name, &Part::name);
  if (into == parts.end()) {
    parts.push_back(from);
  } else if (from.name.ends_with(".json")) {
    attempt([&] {
      attend::Json json = attend::Json::parse(into->bytes), donor = attend::Json::parse(from.bytes);
      cross_json(json, donor, chance);
      into->bytes = json.dump();
    });
  } else {
    into->bytes = from.bytes;
  }
  return put(join_parts(parts), out, most);
}
