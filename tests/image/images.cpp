#include "tests/image/images.h"

#include "attend/base/error.h"
#include "attend/image/decode.h"

namespace attend::test {

bool reads(const std::string& ending) {
  constexpr const char* kFiles[] = {"grey.jpg", "bits.png", "lossless.webp"};
  for (const char* file : kFiles)
    if (std::string(file).ends_with(ending)) {
      try {
        image::read_image(kCases + file);
      } catch (const Error& error) {
        return std::string(error.what()).find("this build") == std::string::npos;
      }
    }
  return true;
}

}  // namespace attend::test
