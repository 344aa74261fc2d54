// Files: what is written is read, replacing is all or nothing, and errors name the path.
#include "attend/base/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/base/mapped_file.h"

namespace attend {
namespace {

namespace fs = std::filesystem;

class FilesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "attend-files-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  int entries() const { return static_cast<int>(std::distance(fs::directory_iterator(folder_), {})); }

  fs::path folder_;
};

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST_F(FilesTest, ReadsWhatWasWritten) {
  for (const std::size_t size : {0u, 1u, 17u, 4096u, 100003u}) {
    std::string content(size, '\0');
    for (std::size_t i = 0; i < size; ++i) content[i] = static_cast<char>(i * 31);
    write_file(folder_ / "a", content);
    EXPECT_EQ(read_file(folder_ / "a"), content);
    const MappedFile mapped(folder_ / "a");
    EXPECT_EQ(mapped.text(), content);
    EXPECT_EQ(mapped.bytes().size(), size);
  }
  EXPECT_EQ(entries(), 1);  // no temporary is left behind
}

TEST_F(FilesTest, ReadsFilesThatTellNoSize) {
  EXPECT_NE(read_file("/proc/self/status").find("Name:"), std::string::npos);
}

TEST_F(FilesTest, MakesTheFolders) {
  write_file(folder_ / "x" / "y" / "z", "deep");
  EXPECT_EQ(read_file(folder_ / "x" / "y" / "z"), "deep");
}

TEST_F(FilesTest, AFailedWriteLeavesTheOldFile) {
  write_file(folder_ / "a", "old");
  EXPECT_THROW(write_file(folder_ / "a",
                          [](const FileWriter& write) {
                            write("half of the n");
                            fail("the producer gave up");
                          }),
               Error);
  EXPECT_EQ(read_file(folder_ / "a"), "old");
  EXPECT_EQ(entries(), 1);
}

TEST_F(FilesTest, WritesInPieces) {
  write_file(folder_ / "a", [](const FileWriter& write) {
    for (int i = 0; i < 5; ++i) write(std::to_string(i));
  });
  EXPECT_EQ(read_file(folder_ / "a"), "01234");
}

TEST_F(FilesTest, KeepsPermissions) {
  write_file(folder_ / "a", "1");
  fs::permissions(folder_ / "a", fs::perms::owner_read | fs::perms::owner_write);
  write_file(folder_ / "a", "2");
  EXPECT_EQ(fs::status(folder_ / "a").permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(FilesTest, ErrorsNameThePath) {
  const std::string missing = (folder_ / "missing").string();
  EXPECT_EQ(message_of([&] { read_file(missing); }), "cannot open '" + missing + "': No such file or directory");
  EXPECT_EQ(message_of([&] { MappedFile mapped{fs::path(missing)}; }),
            "cannot open '" + missing + "': No such file or directory");
  EXPECT_EQ(message_of([&] { read_file(folder_); }), "cannot read '" + folder_.string() + "': it is a folder");
  EXPECT_EQ(message_of([&] { write_file(folder_, "x"); }), "cannot write '" + folder_.string() + "': it is a folder");
  write_file(folder_ / "plain", "x");
  const std::string under = message_of([&] { write_file(folder_ / "plain" / "under", "x"); });
  EXPECT_EQ(under.find("cannot "), 0u) << under;
  EXPECT_NE(under.find((folder_ / "plain").string()), std::string::npos) << under;
}

TEST_F(FilesTest, MappingsMove) {
  write_file(folder_ / "a", "content");
  MappedFile first(folder_ / "a");
  MappedFile second(std::move(first));
  EXPECT_EQ(second.text(), "content");
  write_file(folder_ / "b", "other");
  second = MappedFile(folder_ / "b");
  EXPECT_EQ(second.text(), "other");
}

TEST_F(FilesTest, JsonErrorsSayWhere) {
  write_file(folder_ / "good.json", R"({"b": 1, "a": [2, 3]})");
  const Json json = read_json(folder_ / "good.json");
  EXPECT_EQ(json["a"][1].get<int>(), 3);
  EXPECT_EQ(message_of([] { parse_json("{\"a\": }", "config.json"); }), "config.json: not valid JSON at byte 7 of 7");
}

}  // namespace
}  // namespace attend
