// Bytes compressed with gzip (RFC 1952), piece by piece: a small file can hold any amount, so who reads says how much.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace attend::text {

bool is_gzip(std::string_view file);  // by its first bytes

class GzipReader {
 public:
  // name stands for the file in messages; the compressed bytes must outlive this.
  GzipReader(std::string name, std::string_view compressed);
  ~GzipReader();
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;

  // Appends up to `bytes` more to text; false at the end of the file.
  bool read(std::size_t bytes, std::string& text);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace attend::text
