// Files that are no text are named; text of every kind passes.
#include "attend/base/text_check.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/lines.h"

namespace attend::text_check_test {
namespace {

using std::string_literals::operator""s;

std::string error_of(const std::string& bytes) {
  try {
    check_is_text(bytes, "x");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// The same, line by line as it is read.
std::string line_error_of(const std::string& bytes) {
  std::istringstream in(bytes);
  LineReader reader(in, {.name = "x"});
  try {
    for (std::string line; reader.next(line);) {
    }
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(TextCheck, NamesWhatIsNoText) {
  const std::string image = "give a text file, or choose a model that reads images";
  const std::vector<std::pair<std::string, std::string>> files = {
      {"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"s, "x: this is a PNG image, not text in UTF-8; " + image},
      {"\xff\xd8\xff\xe0\0\x10JFIF"s, "x: this is a JPEG image, not text in UTF-8; " + image},
      {"\x1f\x8b\x08\0\0"s, "x: this is a gzip file, not text in UTF-8; unpack it first"},
      {"notes.txt" + std::string(248, '\0') + "ustar", "x: this is a tar archive, not text in UTF-8; unpack it first"},
      {"PK\x03\x04\x14\0"s, "x: this is a zip file (or a document that is one), not text in UTF-8; unpack it first"},
      {"\xff\xfeH\0i\0\n\0"s, "x: this is UTF-16 text, not text in UTF-8; convert it: iconv -f UTF-16 -t UTF-8"},
      {"\xfe\xff\0H\0i\0\n"s, "x: this is UTF-16 text, not text in UTF-8; convert it: iconv -f UTF-16 -t UTF-8"},
      {"%PDF-1.4\n%\xe2\xe3\xcf\xd3 and more\n", "x: this is a PDF file, not text; give a text file in UTF-8"},
      {"RIFF\x24\0\0\0WEBPVP8 \xf0\xe1 and more"s,
       "x: this is a WebP image or a sound, not text; give a text file in UTF-8"},
      {"some \0 bytes \xfe\xfe that are no letters"s, "x: this is a binary file, not text; give a text file in UTF-8"},
  };
  for (const auto& [bytes, message] : files) {
    EXPECT_EQ(error_of(bytes), message);
    EXPECT_EQ(line_error_of(bytes), message);
  }
  const std::string numbers = "\1\0\0\0\2\0\0\0"s;
  EXPECT_NE(error_of(numbers), "");
  EXPECT_NE(line_error_of(numbers), "");
}

TEST(TextCheck, TextOfEveryKindPasses) {
  std::string cut(7999, 'a');
  cut += "\xc3\xa9\xc3\xa9 and \0 later"s;  // a letter across the end of what is looked at
  for (const std::string& text :
       {""s, "\n"s, "I am a student.\n"s, "\xef\xbb\xbfwith a mark\n"s, "caf\xe9 cr\xe8me in Latin-1, \xfc and all\n"s,
        "\xc3\xa9t\xc3\xa9 \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x98\x80"s, "a\0b\n"s, "\x1b[31mred\x1b[0m\n"s,
        "GIF89a is the name of a format\n"s, "BMW, RIFF, %PDF-1.4 and PK\n"s, "\t\r\n\f"s, cut}) {
    EXPECT_EQ(error_of(text), "");
    EXPECT_EQ(line_error_of(text), "");
  }
}

}  // namespace
}  // namespace attend::text_check_test
