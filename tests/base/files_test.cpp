// Files: what is written is read, replacing is all or nothing, and errors name the path.
#include "attend/base/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <string>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/base/mapped_file.h"
#include "attend/base/new_folder.h"
#include "attend/base/os.h"

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

TEST_F(FilesTest, AMappedFileThatIsCutShortIsAnErrorNotACrash) {
  write_file(folder_ / "a", std::string(100000, 'x'));
  const MappedFile file(folder_ / "a");
  EXPECT_EQ(file.text()[50], 'x');
  file.check_whole();
  ASSERT_EQ(::truncate((folder_ / "a").c_str(), 10), 0);
  EXPECT_EQ(file.text()[99999], '\0');  // SIGBUS, without a handler
  EXPECT_NE(message_of([&] { file.check_whole(); }).find("was cut short"), std::string::npos);
  const MappedFile other(folder_ / "a");
  other.check_whole();
}

TEST_F(FilesTest, TemporaryNamesAreKnownAgain) {
  EXPECT_TRUE(is_temporary_name(temporary_name("model/config.json").filename().string()));
  EXPECT_NE(temporary_name("a"), temporary_name("a"));
  for (const char* name : {"config.json", "a.tmp", ".0123456789abcdef.tmp", "a.0123456789abcdeF.tmp", "a.12-0.tmp"})
    EXPECT_FALSE(is_temporary_name(name)) << name;
}

// Whichever call fails, the file is the old or the new one, and nothing else is left.
TEST_F(FilesTest, AReplacedFileIsOldOrNewWhateverFails) {
  std::int64_t count = 0;
  for (std::int64_t at = 1; at == 1 || count >= at - 1; ++at) {  // until none failed
    write_file(folder_ / "a", "old");
    count = 0;
    {
      const os::FaultInjection faults([&](os::Call, const fs::path&) { return ++count == at ? EIO : 0; });
      message_of([&] { write_file(folder_ / "a", "new"); });
    }
    const std::string found = read_file(folder_ / "a");
    EXPECT_TRUE(found == "old" || found == "new") << found;
    EXPECT_EQ(entries(), 1) << "after call " << at;
  }
  EXPECT_GE(count, 6);  // open, write, flush, rename, and the folder's open and flush
}

TEST_F(FilesTest, AFolderIsReplacedAtOneMoment) {
  std::int64_t count = 0;
  for (std::int64_t at = 1; at == 1 || count >= at - 1; ++at) {  // until none failed
    fs::remove_all(folder_ / "m");
    for (const char* name : {"config", "weights", "notes"}) write_file(folder_ / "m" / name, "old");
    count = 0;
    {
      const os::FaultInjection faults([&](os::Call, const fs::path&) { return ++count == at ? EIO : 0; });
      message_of([&] {
        NewFolder fresh(folder_ / "m");
        for (const char* name : {"config", "weights"}) write_file(fresh.path() / name, "new");
        fresh.take_place();
      });
    }
    EXPECT_EQ(read_file(folder_ / "m/config"), read_file(folder_ / "m/weights")) << "after call " << at;
    // Somebody's own file is there, or still in the folder that was replaced.
    bool kept = false;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) kept |= entry.path().filename() == "notes";
    EXPECT_TRUE(kept) << "after call " << at;
  }
}

TEST(ByteHashTest, DoesNotDependOnHowBytesAreCut) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += static_cast<char>(i * 7);
  ByteHash whole;
  whole.add(text);
  for (const std::size_t part : {1u, 3u, 31u, 32u, 33u, 500u}) {
    ByteHash cut;
    for (std::size_t at = 0; at < text.size(); at += part) cut.add(std::string_view(text).substr(at, part));
    EXPECT_EQ(cut.value(), whole.value()) << part;
  }
  ByteHash other;
  text[999] ^= 1;
  other.add(text);
  EXPECT_NE(other.value(), whole.value());
}

}  // namespace
}  // namespace attend
