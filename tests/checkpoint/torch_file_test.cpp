// Files of torch's that are made here, one thing at a time: what is read, and every way in which one is refused.
#include "attend/checkpoint/torch/torch_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/checkpoint/safetensors_writer.h"
#include "attend/checkpoint/weight_files.h"
#include "tests/checkpoint/message_of.h"
#include "tests/checkpoint/torch_writer.h"

namespace attend {
namespace {

using namespace test;

checkpoint::torch::TorchFile read_made(const std::string& bytes) {
  return checkpoint::torch::view_torch_file(std::as_bytes(std::span(bytes)), "made.bin");
}
std::string refusal_of(const std::string& bytes) {
  return message_of([&] { read_made(bytes); });
}
const Storages kEight = {{"0", floats_of(8)}};

// An archive of one tensor and of what else its state dict has: keys and values.
std::string with(const std::string& more) { return torch_zip(pickled_dict({{.name = "w"}}, "", more), kEight); }

TEST(TorchFile, WrappersGoAndWhatLiesBesideThemIsNamed) {
  const std::string inner = pickled_dict({{.name = "w"}}), other = pickled_dict({{.name = "moment"}});
  for (const char* wrapper : {"state_dict", "model_state_dict", "model"}) {
    const std::string bytes =
        torch_zip(kEmptyDict + "(" + pickled(std::string("optimizer")) + other + pickled(std::string(wrapper)) + inner +
                      pickled(std::string("epoch")) + pickled(std::int64_t{3}) + "u",
                  kEight);
    const checkpoint::torch::TorchFile file = read_made(bytes);
    ASSERT_EQ(file.tensors.tensors().size(), 1u) << wrapper;
    EXPECT_EQ(file.tensors.tensors()[0].name, "w");
    EXPECT_EQ(file.left_out, std::vector<std::string>{"optimizer"});
  }
  // A model whose part is called so is no wrapper: there are tensors beside it.
  const std::string bytes = torch_zip(kEmptyDict + "(" + pickled(std::string("model")) + inner +
                                          pickled(std::string("bias")) + pickled(TorchTensor{}) + "u",
                                      kEight);
  const checkpoint::TensorFile file = read_made(bytes).tensors;
  EXPECT_NE(file.find("model.w"), nullptr);
  EXPECT_NE(file.find("bias"), nullptr);
}

// Since torch 2.3, unsigned numbers lie in a storage without a type.
TEST(TorchFile, TypesThatStoragesHaveNot) {
  const TorchTensor tensor{
      .name = "u", .kind = "UntypedStorage", .elements = 12, .offset = 1, .shape = {2, 2}, .strides = {2, 1}};
  const std::string rebuilt = "ctorch._utils\n_rebuild_tensor_v3\n(" + pickled_storage(tensor, "") +
                              pickled(tensor.offset) + pickled(tensor.shape) + pickled(tensor.strides) + "\x89" +
                              kEmptyDict + "ctorch\nuint16\ntR";
  const std::vector<std::uint16_t> values = {1, 2, 3, 40000, 65535, 6};
  const Storages storages = {{"0", {reinterpret_cast<const char*>(values.data()), 12}}};
  const std::string bytes = torch_zip(kEmptyDict + "(" + pickled(std::string("u")) + rebuilt + "u", storages);
  const checkpoint::TensorFile file = read_made(bytes).tensors;
  EXPECT_EQ(file["u"].type, checkpoint::StoredType::u16);
  EXPECT_EQ(file.ints("u"), (std::vector<std::int64_t>{2, 3, 40000, 65535}));
}

// Files from before torch 0.4 have windows of storages.
TEST(TorchFile, WindowsOfOldStorages) {
  const std::string view = "(" + pickled(std::string("7")) + pickled(std::int64_t{2}) + pickled(std::int64_t{4}) + "t";
  const TorchTensor tensor{.name = "w", .offset = 1, .shape = {3}, .strides = {1}};
  EXPECT_EQ(read_made(torch_stream(pickled_dict({tensor}, view), kEight)).tensors.floats("w"),
            (std::vector<float>{3, 4, 5}));
  const TorchTensor beyond{.name = "w", .offset = 2, .shape = {3}, .strides = {1}};
  EXPECT_NE(refusal_of(torch_stream(pickled_dict({beyond}, view), kEight)).find("beyond storage"), std::string::npos);
}

TEST(TorchFile, StridesOfEveryRank) {
  const Storages storages = {{"0", floats_of(120)}};
  const TorchTensor tensor{.name = "w", .elements = 120, .offset = 3, .shape = {2, 3, 2, 2}, .strides = {1, 20, 4, 7}};
  const std::string bytes = torch_zip(pickled_dict({tensor}), storages);  // which the file points into
  const checkpoint::TensorFile file = read_made(bytes).tensors;
  std::vector<float> expected;
  for (int a = 0; a < 2; ++a)
    for (int b = 0; b < 3; ++b)
      for (int c = 0; c < 2; ++c)
        for (int d = 0; d < 2; ++d) expected.push_back(static_cast<float>(3 + a + 20 * b + 4 * c + 7 * d));
  EXPECT_EQ(file.floats("w"), expected);
  // A large matrix, transposed: more than one square of the copy.
  const Storages large = {{"0", floats_of(70 * 50)}};
  const TorchTensor turned{.name = "t", .elements = 3500, .shape = {50, 70}, .strides = {1, 50}};
  const std::vector<float> values = read_made(torch_zip(pickled_dict({turned}), large)).tensors.floats("t");
  for (std::size_t r = 0; r < 50; ++r)
    for (std::size_t c = 0; c < 70; ++c) ASSERT_EQ(values[r * 70 + c], static_cast<float>(c * 50 + r));
}

TEST(TorchFile, PicklesThatAreRefused) {
  const std::string key = pickled(std::string("x"));
  // Lists of lists, each holding the one before twice: 2^24 values if they were walked.
  std::string bomb = "]";
  for (int i = 0; i < 24; ++i)
    bomb +=
        "q" + std::string(1, static_cast<char>(i)) + "](h" + static_cast<char>(i) + "h" + static_cast<char>(i) + "e";
  // The list that is built upon stays on the stack: it is taken into a tuple, which is the value.
  const std::string bombs = "(" + bomb + "t";
  const struct {
    const char* what;
    std::string more, says;
  } cases[] = {
      {"a bomb of lists", key + bombs, "in several places"},
      {"a list in itself",
       key + "]q\x01h\x01"
             "a",
       "inside one another"},
      {"a call of a storage", key + "ctorch\nFloatStorage\n)R", "calls torch.FloatStorage"},
      {"a call of a text", key + key + ")R", "calls what is no function"},
      {"an attribute of a dict", key + kEmptyDict + "}(" + pickled(std::string("__class__")) + key + "ub", "__class__"},
      {"two attributes",
       key + kEmptyDict + "}(" + pickled(std::string("_metadata")) + "N" + pickled(std::string("_metadata")) + "Nub",
       "2 attributes"},
      {"attributes of a list", key + "]}b", "attributes of what is no state dict"},
      {"a key twice", key + "N" + key + "N", "\"x\" twice"},
      {"a key that is a tuple", ")N", "neither a text nor a whole number"},
      {"a memory without a value", key + "h\x07", "value 7"},
      {"no mark", key + "tttN", "mark"},
      {"a storage alone", key + pickled_storage({}, ""), "without a tensor"},
      {"instances", key + "cos\nsystem\n)\x81", "os.system"},
      {"an opcode of protocol 0", key + "I1\n", "opcode 0x49"},
      {"text that is not UTF-8", pickled(std::string("\xff")) + "N", "UTF-8"},
      {"hooks", key + "ctorch._utils\n_rebuild_parameter\n(" + pickled(TorchTensor{}) + "\x88}" + key + "NstR",
       "other arguments"},
  };
  for (const auto& item : cases)
    EXPECT_NE(refusal_of(with(item.more)).find(item.says), std::string::npos)
        << item.what << ": " << refusal_of(with(item.more));
  EXPECT_EQ(refusal_of(with("")), "no error");
  EXPECT_EQ(refusal_of(with(key + "](" + key + "K\x01NG12345678e")), "no error");
}

TEST(TorchFile, TensorsThatAreRefused) {
  const auto refused = [](TorchTensor tensor, const Storages& storages = kEight) {
    tensor.name = "w";
    return refusal_of(torch_zip(pickled_dict({tensor}), storages));
  };
  constexpr std::int64_t kLarge = std::int64_t{1} << 62;
  const struct {
    TorchTensor tensor;
    std::string says;
  } cases[] = {
      {{.shape = {2, 5}}, "beyond storage"},
      {{.shape = {3, 4}}, "beyond storage"},
      {{.offset = -1}, "negative storage offset"},
      {{.shape = {-2, 4}}, "negative dimension"},
      {{.shape = {2}, .strides = {kLarge}}, "beyond storage"},
      {{.shape = {4, 4}, .strides = {kLarge, kLarge}}, "beyond storage"},
      {{.shape = {kLarge, kLarge}, .strides = {0, 0}}, "overflows"},
      {{.shape = {0, kLarge, kLarge}, .strides = {0, 0, 0}}, "overflows"},
      {{.shape = {std::int64_t{1} << 30}, .strides = {0}}, "would take more than"},
      {{.shape = {2}, .strides = {}}, "one length"},
      {{.shape = {1, 1, 1, 1, 1, 1, 1}, .strides = {1, 1, 1, 1, 1, 1, 1}}, "7 dimensions"},
      {{.elements = 9}, "9 elements"},
      {{.key = "1"}, "which is not there"},
      {{.kind = "ComplexFloatStorage"}, "torch.ComplexFloatStorage"},
      {{.offset = 9, .shape = {0}, .strides = {1}}, "beyond storage"},
  };
  for (const auto& item : cases)
    EXPECT_NE(refused(item.tensor).find(item.says), std::string::npos) << refused(item.tensor);
  EXPECT_NE(refusal_of(torch_zip(pickled_dict({{.name = "w"}, {.name = "w"}}), kEight)).find("\"w\" twice"),
            std::string::npos);
}

TEST(TorchFile, ArchivesThatAreRefused) {
  const std::string pickle = kProtocol + pickled_dict({{.name = "w"}}) + ".";
  const auto archive = [&](ZipPart data, const std::vector<ZipPart>& more = {}) {
    data.name = "a/data/0", data.bytes = floats_of(8);
    std::vector<ZipPart> parts = {{"a/data.pkl", pickle}, data};
    parts.insert(parts.end(), more.begin(), more.end());
    return refusal_of(zip_of(parts));
  };
  EXPECT_EQ(archive({}), "no error");
  EXPECT_NE(archive({.method = 8}).find("compressed"), std::string::npos);
  EXPECT_NE(archive({.flags = 1}).find("encrypted"), std::string::npos);
  EXPECT_NE(archive({.local_name = "a/data/1"}).find("its own header"), std::string::npos);
  EXPECT_NE(archive({.size_more = 4}).find("its own header"), std::string::npos);
  EXPECT_NE(archive({.size_more = -4}).find("its own header"), std::string::npos);
  EXPECT_NE(archive({.offset_by = 1}).find("no header at byte"), std::string::npos);
  EXPECT_NE(archive({.offset_by = 1 << 20}).find("beyond the data"), std::string::npos);
  EXPECT_NE(archive({}, {{"a/data/0", ""}}).find("two entries"), std::string::npos);
  EXPECT_NE(archive({}, {{"b/data.pkl", pickle}}).find("2 entries NAME/data.pkl"), std::string::npos);
  EXPECT_NE(archive({}, {{"a/byteorder", "big"}}).find("byte order \"big\""), std::string::npos);
  EXPECT_NE(archive({}, {{"a/constants.pkl", ""}}).find("TorchScript"), std::string::npos);
  EXPECT_NE(refusal_of(zip_of({{"a/data.pkl", pickle + "."}, {"a/data/0", floats_of(8)}})).find("follow the pickle"),
            std::string::npos);
  EXPECT_NE(refusal_of(zip_of({{"a/data.pkl", pickle}}, "x")).find("not at its end"), std::string::npos);
  // One entry inside of another.
  const std::string inside = zip_of({{"a/data/0", floats_of(8)}});
  const std::string header = inside.substr(0, 30 + 8 + 32);
  const std::string outer = "PK\x03\x04";
  std::vector<ZipPart> parts = {{"a/data.pkl", pickle}, {"a/holds", header}, {"a/data/0", floats_of(8)}};
  parts[2].offset_by = -static_cast<std::int64_t>(header.size());
  EXPECT_NE(refusal_of(zip_of(parts)).find("overlap"), std::string::npos) << refusal_of(zip_of(parts));
}

// Sizes in zip64 fields, as files of more than 4 GB have them; the seed of the fuzzer is one.
TEST(TorchFile, Zip64) {
  std::string file = read_file("fuzz/corpus/torch_file/zip64");
  EXPECT_EQ(read_made(file).tensors.floats("a").size(), 2u);
  const std::size_t field = file.rfind(std::string("\x01\x00\x10\x00", 4));  // of the last entry: another kind
  file[field] = '\x02';
  EXPECT_NE(refusal_of(file).find("no zip64 field"), std::string::npos) << refusal_of(file);
}

TEST(TorchFile, StreamsThatAreRefused) {
  const std::string pickle = pickled_dict({{.name = "w"}}, "N"), whole = torch_stream(pickle, kEight);
  EXPECT_EQ(refusal_of(whole), "no error");
  EXPECT_NE(refusal_of(whole + "x").find("1 bytes follow"), std::string::npos);
  EXPECT_NE(refusal_of(whole.substr(0, whole.size() - 1)).find("cut short"), std::string::npos);
  EXPECT_NE(refusal_of(torch_stream(pickle, {{"0", floats_of(9)}})).find("9 elements where it lies"),
            std::string::npos);
  EXPECT_NE(refusal_of(torch_stream(pickle, {{"1", floats_of(8)}})).find("no tensor has"), std::string::npos);
  EXPECT_NE(refusal_of(torch_stream(pickle, {{"0", floats_of(8)}, {"0", floats_of(8)}})).find("twice"),
            std::string::npos);
  EXPECT_NE(refusal_of(torch_stream(pickle, {})).find("which is not there"), std::string::npos);
  std::string big = whole;
  big[big.find("\x88u.")] = '\x89';
  EXPECT_NE(refusal_of(big).find("big endian"), std::string::npos);
  EXPECT_NE(refusal_of(kProtocol + "K\x01.").find("not one that torch.save wrote"), std::string::npos);
}

TEST(TorchFile, OtherFormatsAreNamed) {
  std::string tar(512, '\0');
  tar.replace(257, 5, "ustar");
  EXPECT_NE(refusal_of(tar).find("a tar archive, torch's format before"), std::string::npos);
  EXPECT_NE(refusal_of("version https://git-lfs.github.com/spec/v1\n").find("Git LFS"), std::string::npos);
  EXPECT_NE(refusal_of("").find("not a file that torch.save wrote"), std::string::npos);
  EXPECT_NE(refusal_of(torch_zip(pickled(TorchTensor{}), kEight)).find("only one tensor"), std::string::npos);
  EXPECT_NE(refusal_of(torch_zip(kEmptyDict, {})).find("no tensors"), std::string::npos);
}

class TorchFolder : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // A file with one tensor of eight numbers from `first` on.
  void write(const std::string& file, const std::string& name, int first) const {
    std::vector<float> values(8);
    std::iota(values.begin(), values.end(), static_cast<float>(first));
    const Storages storages = {{"0", {reinterpret_cast<const char*>(values.data()), 32}}};
    write_file(folder_ / file, first % 2 == 0 ? torch_zip(pickled_dict({{.name = name}}), storages)
                                              : torch_stream(pickled_dict({{.name = name}}, "N"), storages));
  }
  std::string trouble() const {
    return message_of([&] { checkpoint::TensorFiles::open(folder_); });
  }

  const std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / "attend_torch_folder_test";
};

TEST_F(TorchFolder, ShardsOfBothFormats) {
  write("pytorch_model-00001-of-00002.bin", "a", 0);
  write("pytorch_model-00002-of-00002.bin", "b", 1);
  write_file(folder_ / "pytorch_model.bin.index.json",
             R"({"metadata": {"total_size": 64}, "weight_map": {"a": "pytorch_model-00001-of-00002.bin",
                 "b": "pytorch_model-00002-of-00002.bin"}})");
  const checkpoint::TensorFiles files = checkpoint::TensorFiles::open(folder_);
  EXPECT_EQ(files.names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(files.all().floats("a")[7], 7);
  EXPECT_EQ(files.all().floats("b")[7], 8);
  files.all().forget("b");
  EXPECT_EQ(files.all().floats("b")[0], 1);
  write("pytorch_model-00002-of-00002.bin", "a", 1);
  EXPECT_NE(trouble().find("two tensors \"a\""), std::string::npos) << trouble();
  std::filesystem::remove(folder_ / "pytorch_model-00002-of-00002.bin");
  EXPECT_NE(trouble().find("pytorch_model-00002-of-00002.bin"), std::string::npos);
}

TEST_F(TorchFolder, SafetensorsComeFirst) {
  write("pytorch_model.bin", "module.a", 2);
  EXPECT_EQ(checkpoint::TensorFiles::open(folder_).names(), std::vector<std::string>{"a"});  // DataParallel's prefix
  const std::vector<float> values = {5};
  checkpoint::SafetensorsWriter writer;
  writer.add("c", {1}, values);
  writer.write((folder_ / "model.safetensors").string());
  EXPECT_EQ(checkpoint::TensorFiles::open(folder_).names(), std::vector<std::string>{"c"});
}

TEST_F(TorchFolder, OtherFormatsAreNamed) {
  EXPECT_NE(trouble().find("no model.safetensors and no pytorch_model.bin"), std::string::npos);
  write_file(folder_ / "model-q4.gguf", "GGUF");
  EXPECT_NE(trouble().find("model-q4.gguf is of GGUF"), std::string::npos) << trouble();
}

}  // namespace
}  // namespace attend
