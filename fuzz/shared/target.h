// A target is a place where untrusted input enters. Each fuzz/NAME.cpp defines kTarget and enter(); the rest,
// libFuzzer's entry points and mutators that keep an input readable, is here and in mutate.h.
//
// Whatever the bytes are, a reader takes them or throws Error. Anything else that happens is a bug: another exception,
// a report of a sanitizer, more memory or more time than a small file may cost (limits: tools/fuzz).
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/error.h"

namespace attend::fuzz {

// An input is the bytes of one file or, where a reader takes several, of each behind a line "==== NAME".
struct Part {
  std::string name, bytes;
};
std::vector<Part> split_parts(std::string_view input, std::string_view name);
std::string join_parts(const std::vector<Part>& parts);

class Input {
 public:
  explicit Input(std::vector<Part> parts) : parts_(std::move(parts)) {}

  const std::vector<Part>& parts() const { return parts_; }
  const Part& first() const { return parts_.front(); }
  // The bytes under a name; empty when there is no such part.
  std::string_view operator[](std::string_view name) const;
  bool has(std::string_view name) const;

 private:
  std::vector<Part> parts_;
};

struct Target {
  // What an input that is one file is called. Names say how bytes are changed: .json, .jsonl, .safetensors, .model.
  const char* file;
  // JSON: what may stand under a key, several of each. "@tensors" are names of tensors, "@words" go into strings.
  const char* schema = "{}";
  // Makes checksums right again, which no change would survive otherwise.
  void (*repair)(Part& part) = nullptr;
};

extern const Target kTarget;
void enter(const Input& input);

// Runs what may throw Error, and goes on.
template <class Read>
void attempt(Read read) {
  try {
    read();
  } catch (const Error&) {
  }
}

// For what must hold of everything that a reader has taken; ends the program, and so is found.
void must(bool holds, const char* what);

// The same for a reader that must take what it is given: it may not throw Error.
template <class Read>
void must_take(Read read, const char* what) {
  try {
    read();
  } catch (const Error& error) {
    must(false, fmt::format("{}; it was refused: {}", what, error.what()).c_str());
  }
}

// A folder of this process for readers that open files; it is gone when the process ends.
const std::filesystem::path& folder();
std::filesystem::path write(std::string_view name, std::string_view bytes);
void remove(std::string_view name);

}  // namespace attend::fuzz
