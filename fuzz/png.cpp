// Any bytes as a PNG, whose chunks get their check sums back.
#include "fuzz/shared/image_target.h"

namespace attend::fuzz {

namespace {

std::uint32_t number_at(const std::string& file, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number = number << 8 | static_cast<unsigned char>(file[at + i]);
  return number;
}

void put_number(std::string& file, std::size_t at, std::uint32_t number) {
  for (std::size_t i = 0; i < 4; ++i) file[at + i] = static_cast<char>(number >> (24 - 8 * i));
}

// ISO/IEC 15948, annex D.
std::uint32_t check_sum(std::string_view bytes) {
  std::uint32_t sum = 0xffffffffu;
  for (const char c : bytes) {
    sum ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) sum = sum & 1 ? 0xedb88320u ^ sum >> 1 : sum >> 1;
  }
  return ~sum;
}

// Behind the signature: a length, a name, so many bytes, and the sum of the last two.
void repair(Part& part) {
  std::string& file = part.bytes;
  for (std::size_t at = 8; at + 12 <= file.size();) {
    const std::size_t length = number_at(file, at);
    if (length > file.size() - at - 12) return;
    put_number(file, at + 8 + length, check_sum(std::string_view(file).substr(at + 4, length + 4)));
    at += 12 + length;
  }
}

}  // namespace

const Target kTarget = {.file = "image.png", .repair = repair};

void enter(const Input& input) { enter_image(input.first().bytes); }

}  // namespace attend::fuzz
