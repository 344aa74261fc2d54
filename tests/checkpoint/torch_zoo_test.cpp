// Files that torch 2.11 wrote, held against the same tensors as safetensors, and hostile ones, which are refused with a
// reason (tests/fixtures/data/hub/bin_zoo).
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/checkpoint/safetensors.h"
#include "attend/checkpoint/torch/torch_file.h"
#include "tests/checkpoint/message_of.h"

namespace attend {
namespace {

const std::filesystem::path kZoo = "tests/fixtures/data/hub/bin_zoo";

// Of all files that must load, or that must be refused.
std::vector<std::string> files_that_must(const std::string& what) {
  const Json zoo = read_json(kZoo / "case.json");
  std::vector<std::string> files;
  for (const auto& [name, about] : zoo["files"].items())
    if (about["must"] == what) files.push_back(name);
  return files;
}

// From a checkpoint {"state_dict": ..} the wrapper is left out.
std::string without_wrapper(const std::string& name) {
  constexpr std::string_view kWrapper = "state_dict.";
  return name.starts_with(kWrapper) ? name.substr(kWrapper.size()) : name;
}

TEST(TorchZoo, EveryTensorIsItsTwinBitByBit) {
  const std::vector<std::string> files = files_that_must("load");
  EXPECT_EQ(files.size(), 9u);
  for (const std::string& name : files) {
    const checkpoint::TensorFile file = checkpoint::torch::open_torch_file(kZoo / name).tensors;
    const checkpoint::Safetensors twin =
        checkpoint::Safetensors::open((kZoo / name).replace_extension(".safetensors").string());
    ASSERT_EQ(file.tensors().size(), twin.tensors().size()) << name;
    for (const checkpoint::StoredTensor& expected : twin.tensors()) {
      const checkpoint::StoredTensor& tensor = file[without_wrapper(expected.name)];
      EXPECT_EQ(tensor.type, expected.type) << name << " " << expected.name;
      EXPECT_EQ(tensor.shape, expected.shape) << name << " " << expected.name;
      EXPECT_TRUE(std::ranges::equal(file.contents(tensor.name).view(), expected.bytes)) << name << " " << tensor.name;
      if (is_float(expected.type)) {
        EXPECT_EQ(file.floats(tensor.name), twin.floats(expected.name)) << tensor.name;
      } else if (expected.type != checkpoint::StoredType::i8) {  // which has a scale
        EXPECT_EQ(file.ints(tensor.name), twin.ints(expected.name)) << tensor.name;
      }
    }
  }
}

TEST(TorchZoo, HostileFilesAreRefusedWithAReason) {
  const std::map<std::string, std::string> reasons = {{"build_on_tensor", "os.system"},
                                                      {"compressed_entry", "compressed"},
                                                      {"deep_tuples", "inside one another"},
                                                      {"huge_shape", "would take more than"},
                                                      {"long_string", "4294967295 bytes"},
                                                      {"memo_bomb", "opcode 0x30"},
                                                      {"negative_stride", "negative stride: -1"},
                                                      {"offset_beyond_end", "beyond storage"},
                                                      {"os_system", "os.system"},
                                                      {"truncated_zip", "cut short"},
                                                      {"unknown_global", "mylib.layers.Thing"}};
  const std::vector<std::string> files = files_that_must("be refused");
  EXPECT_EQ(files.size(), reasons.size());
  for (const std::string& name : files) {
    const std::string message = message_of([&] { checkpoint::torch::open_torch_file(kZoo / name); });
    const std::string stem = std::filesystem::path(name).stem().string();
    EXPECT_NE(message.find(name), std::string::npos) << message;
    EXPECT_NE(message.find(reasons.at(stem)), std::string::npos) << message;
  }
  EXPECT_FALSE(std::filesystem::exists("PWNED"));
}

// Wherever a file ends too early, that is an Error; and so is any byte of it that is another, unless it is a number of
// a tensor, a name or padding.
TEST(TorchZoo, EveryPieceOfAFileIsRefusedOrRead) {
  for (const char* name : {"nested.bin", "shared_storage_legacy.bin"}) {
    const std::string whole = read_file(kZoo / name);
    for (std::size_t size = 0; size < whole.size(); ++size)
      EXPECT_NE(
          message_of([&] { checkpoint::torch::view_torch_file(std::as_bytes(std::span(whole).first(size)), "piece"); }),
          "no error")
          << name << " " << size;
    for (std::size_t at = 0; at < whole.size(); ++at)
      for (const int change : {1, 0x80, 0xff}) {
        std::string other = whole;
        other[at] = static_cast<char>(other[at] ^ change);
        message_of([&] {
          const checkpoint::TensorFile file =
              checkpoint::torch::view_torch_file(std::as_bytes(std::span(other)), "other").tensors;
          for (const checkpoint::StoredTensor& tensor : file.tensors()) file.contents(tensor.name);
        });
      }
  }
}

}  // namespace
}  // namespace attend
