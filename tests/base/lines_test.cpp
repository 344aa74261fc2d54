// Lines from a stream: their ends, byte order marks, and the limit on their length.
#include "attend/base/lines.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/paths.h"
#include "attend/base/terminal.h"

namespace attend::lines_test {
namespace {

using Lines = std::vector<std::string>;

Lines lines_of(const std::string& text, LineOptions options = {}) {
  std::istringstream in(text);
  LineReader reader(in, std::move(options));
  Lines lines;
  for (std::string line; reader.next(line);) lines.push_back(line);
  EXPECT_EQ(reader.number(), static_cast<std::int64_t>(lines.size()));
  return lines;
}

TEST(LineReader, CutsAtLineFeeds) {
  EXPECT_EQ(lines_of(""), Lines{});
  EXPECT_EQ(lines_of("\n"), Lines{""});
  EXPECT_EQ(lines_of("a"), Lines{"a"});
  EXPECT_EQ(lines_of("a\nb\r\n\nc"), (Lines{"a", "b", "", "c"}));
  EXPECT_EQ(lines_of("a\r\n", {.keeps_returns = true}), Lines{"a\r"});
  const std::string zero("a\0b\n", 4);
  EXPECT_EQ(lines_of(zero), Lines{std::string("a\0b", 3)});
}

TEST(LineReader, LinesOfEveryLengthComeWhole) {
  for (const std::size_t length : {16382u, 16383u, 16384u, 16385u, 100000u}) {
    const std::string line(length, 'x');
    EXPECT_EQ(lines_of(line + "\n" + line), (Lines{line, line})) << length;
    EXPECT_EQ(lines_of(line), Lines{line}) << length;
  }
}

TEST(LineReader, AByteOrderMarkIsNotText) {
  EXPECT_EQ(lines_of("\xEF\xBB\xBF"), Lines{});
  EXPECT_EQ(lines_of("\xEF\xBB\xBF\n"), Lines{""});
  EXPECT_EQ(lines_of("\xEF\xBB\xBFone\n\xEF\xBB\xBFtwo"), (Lines{"one", "\xEF\xBB\xBFtwo"}));
  std::istringstream in("\xEF\xBB\xBFtext\n");
  EXPECT_EQ(read_text(in, "here"), "text\n");
}

std::string message_of(const std::string& text, LineOptions options) {
  try {
    lines_of(text, std::move(options));
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(LineReader, ALineThatIsTooLongNamesTheLimit) {
  EXPECT_EQ(lines_of("12345678\n", {.longest = 8}), Lines{"12345678"});
  EXPECT_EQ(message_of("a\n123456789\n", {.name = "x.txt", .longest = 8}),
            "x.txt, line 2: longer than 8 bytes; --max-line raises the limit");
  // It is not read to its end, which may be far.
  std::istringstream in(std::string(10 << 20, 'a'));
  LineReader reader(in);
  std::string line;
  EXPECT_THROW(reader.next(line), Error);
  EXPECT_LT(line.size(), limits::kLongestLine + (1 << 15));
  std::istringstream all("123456789");
  EXPECT_THROW(read_text(all, "here", 8), Error);
}

TEST(Paths, FoldersThatCannotBeLookedIntoAreErrors) {
  EXPECT_FALSE(path_exists("no such folder/file"));
  EXPECT_FALSE(is_folder("no such folder"));
  EXPECT_TRUE(is_folder("."));
  const std::string endless(5000, 'x');  // a name that no file system takes
  EXPECT_THROW(path_exists(endless), Error);
  EXPECT_THROW(make_folders(endless), Error);
  EXPECT_THROW(files_in("no such folder"), Error);
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("attend-paths-" + std::to_string(getpid()));
  make_folders(folder / "deep");
  write_file(folder / "b", "");
  write_file(folder / "a", "");
  EXPECT_EQ(files_in(folder), (std::vector<std::filesystem::path>{folder / "a", folder / "b"}));
  std::filesystem::remove_all(folder);
}

TEST(Printable, ControlCharactersAreVisible) {
  EXPECT_EQ(printable("plain text, \u00fcml\u00e4ute \u4f60 \U0001F600"),
            "plain text, \u00fcml\u00e4ute \u4f60 \U0001F600");
  EXPECT_EQ(printable("\x1b[31mred\x1b]0;title\x07"), "\\x1b[31mred\\x1b]0;title\\x07");
  EXPECT_EQ(printable("a\nb\tc\rd"), "a\\nb\\tc\\rd");
  EXPECT_EQ(printable("\u009b2J"), "\\x9b2J");     // one character that does what ESC [ does
  EXPECT_EQ(printable("\x9b\xff"), "\\x9b\\xff");  // bytes that are no UTF-8
  EXPECT_EQ(printable("\u202eabc\u2066"), "\\u202eabc\\u2066");
}

}  // namespace
}  // namespace attend::lines_test
