// Untrusted files: every one is refused with an Error that says which file, which tensor and what is wrong.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/checkpoint/safetensors.h"

namespace attend {
namespace {

std::vector<std::byte> file_of(std::uint64_t claimed, std::string_view header, std::size_t data) {
  std::vector<std::byte> bytes(sizeof claimed + header.size() + data);
  std::memcpy(bytes.data(), &claimed, sizeof claimed);
  if (!header.empty()) std::memcpy(bytes.data() + sizeof claimed, header.data(), header.size());
  return bytes;
}

std::string refusal(std::span<const std::byte> bytes) {
  try {
    (void)checkpoint::Safetensors::view(bytes, "bad.safetensors");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

struct Hostile {
  const char* name;
  std::string header;
  std::size_t data;  // bytes behind the header
  std::vector<const char*> says;
};

std::string tensor(std::string_view name, std::string_view type, std::string_view shape, std::string_view offsets) {
  return "\"" + std::string(name) + "\":{\"dtype\":\"" + std::string(type) + "\",\"shape\":" + std::string(shape) +
         ",\"data_offsets\":" + std::string(offsets) + "}";
}

std::string object(std::initializer_list<std::string> members) {
  std::string text;
  for (const std::string& member : members) text += (text.empty() ? "{" : ",") + member;
  return text + "}";
}

std::string one(std::string_view type, std::string_view shape, std::string_view offsets) {
  return object({tensor("w", type, shape, offsets)});
}

std::string repeated(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

std::vector<Hostile> hostile_offsets() {
  return {
      {"reversed", one("F32", "[2]", "[8,0]"), 8, {"\"w\"", "reversed", "[8, 0]"}},
      {"out_of_range", one("F32", "[4]", "[0,16]"), 8, {"\"w\"", "out of range", "16", "8"}},
      {"begins_out_of_range", one("F32", "[0]", "[64,64]"), 8, {"\"w\"", "out of range"}},
      {"far_out_of_range", one("U8", "[9223372036854775807]", "[0,9223372036854775807]"), 8, {"out of range"}},
      {"largest_offset", one("U8", "[1]", "[18446744073709551614,18446744073709551615]"), 8, {"out of range"}},
      {"beyond_64_bits", one("U8", "[1]", "[0,18446744073709551616]"), 8, {"data offset", "whole number"}},
      {"overlap",
       object({tensor("a", "F32", "[2]", "[0,8]"), tensor("b", "F32", "[2]", "[4,12]")}),
       12,
       {"\"b\"", "overlaps", "\"a\""}},
      {"same_place", object({tensor("a", "F32", "[2]", "[0,8]"), tensor("b", "F32", "[2]", "[0,8]")}), 8, {"overlaps"}},
      {"inside", object({tensor("a", "F32", "[4]", "[0,16]"), tensor("b", "F32", "[1]", "[4,8]")}), 16, {"overlaps"}},
      {"empty_inside",
       object({tensor("a", "F32", "[4]", "[0,16]"), tensor("b", "F32", "[0]", "[4,4]")}),
       16,
       {"\"b\"", "overlaps"}},
      {"hole",
       object({tensor("a", "F32", "[1]", "[0,4]"), tensor("b", "F32", "[1]", "[8,12]")}),
       12,
       {"\"b\"", "bytes 4 to 8 belong to none"}},
      {"hole_at_the_start", one("F32", "[1]", "[4,8]"), 8, {"\"w\"", "belong to none"}},
      {"not_covering", one("F32", "[1]", "[0,4]"), 8, {"end at byte 4", "8"}},
      {"no_tensors_but_data", "{}", 8, {"end at byte 0", "8"}},
      {"negative", one("F32", "[1]", "[-4,0]"), 8, {"\"w\"", "data offset", "whole number"}},
      {"fraction", one("F32", "[1]", "[0,4.0]"), 4, {"data offset", "whole number"}},
      {"text", one("F32", "[1]", "[\"0\",\"4\"]"), 4, {"data offset", "whole number"}},
      {"three", one("F32", "[1]", "[0,4,8]"), 8, {"\"w\"", "not two numbers"}},
      {"none", one("F32", "[1]", "[]"), 8, {"\"w\"", "not two numbers"}},
      {"no_array", one("F32", "[1]", "4"), 8, {"\"w\"", "not two numbers"}},
      {"missing", R"({"w":{"dtype":"F32","shape":[1]}})", 4, {"\"w\"", "no data_offsets"}},
  };
}

std::vector<Hostile> hostile_shapes() {
  return {
      {"too_small", one("F32", "[3]", "[0,8]"), 8, {"\"w\"", "F32 [3]", "12 bytes", "span 8"}},
      {"too_large", one("F32", "[1]", "[0,8]"), 8, {"\"w\"", "F32 [1]", "4 bytes", "span 8"}},
      {"zero_with_bytes", one("F32", "[0,2]", "[0,8]"), 8, {"\"w\"", "[0, 2]", "0 bytes", "span 8"}},
      {"other_type", one("F16", "[2]", "[0,8]"), 8, {"\"w\"", "F16 [2]", "span 8"}},
      {"overflow_to_zero", one("F32", "[4294967296,4294967296]", "[0,0]"), 0, {"\"w\"", "overflows"}},
      {"overflow_to_eight", one("F32", "[4611686018427387906]", "[0,8]"), 8, {"\"w\"", "overflows"}},
      {"overflow_beside_zero", one("F32", "[4294967296,4294967296,0]", "[0,0]"), 0, {"\"w\"", "overflows"}},
      {"overflow_behind_zero", one("F32", "[0,4294967296,4294967296]", "[0,0]"), 0, {"\"w\"", "overflows"}},
      {"above_signed", one("U8", "[9223372036854775808]", "[0,0]"), 0, {"\"w\"", "overflows"}},
      {"negative", one("F32", "[-2]", "[0,8]"), 8, {"\"w\"", "dimension", "whole number"}},
      {"two_negatives", one("F32", "[-1,-2]", "[0,8]"), 8, {"\"w\"", "dimension", "whole number"}},
      {"fraction", one("F32", "[2.0]", "[0,8]"), 8, {"dimension", "whole number"}},
      {"nested", one("F32", "[2]", "[[0],8]"), 8, {"nested"}},
      {"no_array", one("F32", "2", "[0,8]"), 8, {"\"w\"", "shape", "not an array"}},
      {"too_many", one("F32", "[1,1,1,1,1,1,2]", "[0,8]"), 8, {"\"w\"", "7 dimensions"}},
      {"missing", R"({"w":{"dtype":"F32","data_offsets":[0,4]}})", 4, {"\"w\"", "no shape"}},
      {"unknown_type", one("F4", "[2]", "[0,1]"), 1, {"\"w\"", "dtype \"F4\"", "unknown"}},
      {"lower_case_type", one("f32", "[2]", "[0,8]"), 8, {"dtype \"f32\"", "unknown"}},
      {"type_not_a_string", R"({"w":{"dtype":4,"shape":[2],"data_offsets":[0,8]}})", 8, {"\"w\"", "dtype", "string"}},
      {"no_type", R"({"w":{"shape":[2],"data_offsets":[0,8]}})", 8, {"\"w\"", "no dtype"}},
  };
}

std::vector<Hostile> hostile_json() {
  const std::string good = tensor("w", "F32", "[1]", "[0,4]");
  return {
      {"empty", "", 4, {"not a JSON object"}},
      {"array", "[]", 0, {"not a JSON object"}},
      {"number", "7", 0, {"not a JSON object"}},
      {"space_first", " {}", 0, {"not a JSON object"}},
      {"cut", "{" + good, 4, {"not valid JSON"}},
      {"trailing", "{" + good + "}}", 4, {"not valid JSON"}},
      {"two_objects", "{}{" + good + "}", 4, {"not valid JSON"}},
      {"trailing_zero_byte", "{" + good + "}" + std::string(1, '\0'), 4, {"not valid JSON"}},
      {"comment", "{/* */" + good + "}", 4, {"not valid JSON"}},
      {"duplicate_tensor", object({good, good}), 4, {"\"w\"", "twice"}},
      {"duplicate_by_escape", object({good, tensor("\\u0077", "F32", "[1]", "[0,4]")}), 4, {"\"w\"", "twice"}},
      {"duplicate_field",
       R"({"w":{"dtype":"F32","shape":[1],"shape":[2],"data_offsets":[0,4]}})",
       4,
       {"\"shape\"", "twice"}},
      {"duplicate_metadata", R"({"__metadata__":{},"__metadata__":{}})", 0, {"\"__metadata__\"", "twice"}},
      {"bad_utf8", "{\"w\xff\":1}", 0, {"UTF-8"}},
      {"overlong_utf8", "{\"\xc0\xaf\":1}", 0, {"UTF-8"}},
      {"surrogate_utf8", "{\"\xed\xa0\x80\":1}", 0, {"UTF-8"}},
      {"cut_utf8", "{\"\xe2\x82\":1}", 0, {"UTF-8"}},
      {"lone_surrogate_escape", R"({"\ud800":1})", 0, {"not valid JSON"}},
      {"deep_arrays", "{\"w\":" + repeated("[", 100'000), 0, {"nested more than"}},
      {"deep_objects", repeated("{\"w\":", 100'000), 0, {"nested more than"}},
      {"number_out_of_range", R"({"w":1e999})", 0, {"number out of range"}},
      {"tensor_is_a_number", R"({"w":1})", 0, {"\"w\"", "not an object"}},
      {"tensor_is_null", R"({"w":null})", 0, {"\"w\"", "not an object"}},
      {"metadata_is_a_list", R"({"__metadata__":[]})", 0, {"__metadata__", "not an object"}},
      {"metadata_holds_a_number", R"({"__metadata__":{"a":1}})", 0, {"\"a\"", "__metadata__", "not a string"}},
      {"controls_in_the_name", R"({"\u001b[31mred":1})", 0, {"\"\\u001b[31mred\""}},
      {"endless_name", "{\"" + repeated("n", 10'000) + "\":1}", 0, {"nnn\"... is not an object"}},
  };
}

class HostileTest : public testing::TestWithParam<Hostile> {};

TEST_P(HostileTest, IsRefused) {
  const Hostile& hostile = GetParam();
  const std::string message = refusal(file_of(hostile.header.size(), hostile.header, hostile.data));
  EXPECT_TRUE(message.starts_with("bad.safetensors: ")) << "message: " << message;
  EXPECT_LT(message.size(), 600u);
  for (const char* part : hostile.says) EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
}

const auto kNameOfCase = [](const testing::TestParamInfo<Hostile>& info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(Offsets, HostileTest, testing::ValuesIn(hostile_offsets()), kNameOfCase);
INSTANTIATE_TEST_SUITE_P(Shapes, HostileTest, testing::ValuesIn(hostile_shapes()), kNameOfCase);
INSTANTIATE_TEST_SUITE_P(Json, HostileTest, testing::ValuesIn(hostile_json()), kNameOfCase);

TEST(SafetensorsHeader, LengthMustFitTheFile) {
  const std::string header = one("F32", "[1]", "[0,4]");
  EXPECT_EQ(refusal(file_of(header.size(), header, 4)), "");
  EXPECT_NE(refusal(file_of(header.size() + 5, header, 4)).find("truncated"), std::string::npos);
  EXPECT_NE(refusal(file_of(100'000'001, header, 4)).find("limit"), std::string::npos);
  EXPECT_NE(refusal(file_of(~std::uint64_t{0}, header, 4)).find("limit"), std::string::npos);
  EXPECT_NE(refusal(file_of(std::uint64_t{1} << 63, header, 4)).find("limit"), std::string::npos);
}

TEST(SafetensorsHeader, EveryTruncationIsRefused) {
  const std::string header = object({tensor("a", "F32", "[2,3]", "[0,24]"), tensor("b", "I64", "[1]", "[24,32]")});
  const std::vector<std::byte> whole = file_of(header.size(), header, 32);
  EXPECT_EQ(refusal(whole), "");
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_NE(refusal(std::span(whole).first(length)), "") << length << " bytes";
}

TEST(SafetensorsHeader, SaysWhatElseTheFileMayBe) {
  const auto bytes_of_text = [](std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); };
  EXPECT_NE(refusal(bytes_of_text({"PK\x03\x04\x00\x00\x00\x00\x00\x00", 10})).find("pickle"), std::string::npos);
  EXPECT_NE(refusal(bytes_of_text("version https://git-lfs.github.com/spec/v1\n")).find("git lfs pull"),
            std::string::npos);
}

// Flipped bits either leave a file that reads, or are refused with an Error; nothing else may happen.
TEST(SafetensorsHeader, SurvivesRandomDamage) {
  const std::string header = object({R"("__metadata__":{"format":"pt"})", tensor("a", "F32", "[2,3]", "[0,24]"),
                                     tensor("b", "I64", "[1]", "[24,32]"), tensor("c", "BOOL", "[0,4]", "[32,32]")});
  const std::vector<std::byte> whole = file_of(header.size(), header, 32);
  std::mt19937 random(7);
  int refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::byte> damaged = whole;
    for (unsigned flips = 1 + random() % 3; flips > 0; --flips)
      damaged[random() % damaged.size()] ^= static_cast<std::byte>(1u << (random() % 8));
    try {
      const checkpoint::Safetensors read = checkpoint::Safetensors::view(damaged, "damaged");
      for (const checkpoint::StoredTensor& each : read.tensors())
        (void)(is_float(each.type) ? read.floats(each.name).size() : read.ints(each.name).size());
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 10'000);
}

}  // namespace
}  // namespace attend
