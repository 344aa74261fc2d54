// Any bytes as a .safetensors file: every tensor it lists can be read, or the file is refused with an Error.
#include "attend/checkpoint/safetensors.h"

#include "attend/base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto file = attend::Safetensors::view(std::as_bytes(std::span(data, size)), "input");
    for (const attend::StoredTensor& tensor : file.tensors())
      if (is_float(tensor.type))
        file.floats(tensor.name);
      else
        file.ints(tensor.name);
  } catch (const attend::Error&) {
  }
  return 0;
}
