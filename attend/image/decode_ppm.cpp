// PPM, the plain one of the Netpbm formats ("P6"): a size and rows of RGB. A page whose browser has decoded an image
// hands it over so (attend/wasm/worker.js); comments and more than 8 bits are not read.
#include <cstring>

#include "attend/base/error.h"
#include "attend/image/formats.h"

namespace attend::image {

namespace {

class PpmRows : public ImageRows {
 public:
  PpmRows(const ImageHeader& header, const std::byte* pixels) : ImageRows(header), pixels_(pixels) {}
  void next(std::uint8_t* row) override {
    std::memcpy(row, pixels_, row_bytes());
    pixels_ += row_bytes();
  }

 private:
  const std::byte* pixels_;
};

// "P6 WIDTH HEIGHT 255 ": numbers with one white space behind each.
class Numbers {
 public:
  Numbers(std::span<const std::byte> file, std::string_view source) : file_(file), source_(source) {}
  std::int64_t next() {
    std::int64_t number = 0;
    for (int digits = 0; digits < 9; ++digits) {
      check(at_ < file_.size(), "{}: the PPM is cut short", source_);
      const int c = std::to_integer<int>(file_[at_++]);
      if ((c == ' ' || c == '\n') && digits > 0) return number;
      check(c >= '0' && c <= '9', "{}: the PPM is broken: its head has no number where one belongs", source_);
      number = 10 * number + c - '0';
    }
    fail("{}: the PPM is broken: a number of its head is too long", source_);
  }
  std::size_t at() const { return at_; }

 private:
  std::span<const std::byte> file_;
  std::string_view source_;
  std::size_t at_ = 3;  // behind "P6" and a white space
};

}  // namespace

Opened open_ppm(std::span<const std::byte> file, std::string_view source, const DecodeOptions& options) {
  Numbers numbers(file, source);
  const std::int64_t width = numbers.next(), height = numbers.next();
  check(numbers.next() == 255, "{}: the PPM has no 8 bits a channel", source);
  const ImageHeader header{width, height, 3 * width * height};
  check_size(header, source, options);
  check(file.size() - numbers.at() >= static_cast<std::size_t>(header.memory), "{}: the PPM is cut short", source);
  return {std::make_unique<PpmRows>(header, file.data() + numbers.at())};
}

}  // namespace attend::image
