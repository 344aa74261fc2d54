// Tells text from other files by the first bytes. A model reads any bytes as a text of some kind, and an answer for
// each "line" of a PNG helps nobody.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace attend {

// Sees a file from its beginning, in one piece or in several, and throws Error when it is none of text: one that names
// what it is (a PNG image, a gzip file, UTF-16) and what to do. A file of another kind is known by its signature, or by
// bytes of 0 beside bytes that are no UTF-8. Text in Latin-1 passes, and so does a single 0 in a text.
class TextCheck {
 public:
  explicit TextCheck(std::string name) : name_(std::move(name)) {}  // in messages

  void add(std::string_view piece);
  bool done() const { return seen_ >= kBytes; }  // later bytes say nothing

 private:
  static constexpr std::size_t kBytes = 8000;

  std::string name_;
  std::size_t seen_ = 0, zeros_ = 0;
  bool invalid_ = false;         // not UTF-8
  const char* maybe_ = nullptr;  // what it is if it is no text: its signature could be a word
};

// The same for a text that is there as a whole.
void check_is_text(std::string_view text, const std::string& name);

}  // namespace attend
