// Tensors of a file that no part of the model reads. A ViT with LayerScale would run without it and be wrong in
// silence, so the program says which they are, and refuses them under --strict.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace attend::checkpoint {

struct UnreadPolicy {
  bool strict = false;                                // an Error instead of a warning
  std::function<void(const std::string&)> warn = {};  // none: nobody hears of them, as in the libraries
};

// For the whole process while the guard lives: what a program does about all the files that it reads.
class UnreadGuard {
 public:
  explicit UnreadGuard(UnreadPolicy policy);
  ~UnreadGuard();
  UnreadGuard(const UnreadGuard&) = delete;
  UnreadGuard& operator=(const UnreadGuard&) = delete;

  static void be_strict();  // from here on, whoever made the guard

 private:
  UnreadPolicy before_;
};

// Whether the name is one of a head (or pooler) that another class of the same family has: the body is read without
// it, and nothing is wrong.
bool is_of_another_head(std::string_view name);

// Warns or throws about names of a file (source), but for those of other heads.
void report_unread(const std::string& source, std::span<const std::string> names);

}  // namespace attend::checkpoint
