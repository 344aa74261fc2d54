#include "attend/cli/support/line_prefix.h"

#include <fmt/core.h>

namespace attend::cli {

// To the next file with something in it, where all of this one was read.
bool LinePrefix::open_next() {
  while (!file_ || at_ == file_->size()) {
    if (opened_ == files_.size()) return false;
    file_.emplace(std::filesystem::path(files_[opened_++]));
    at_ = 0;
  }
  return true;
}

bool LinePrefix::advance(std::int64_t lines) {
  for (; lines > 0; --lines) {
    if (!open_next()) return false;
    const std::string_view rest = file_->text().substr(at_);
    const std::size_t length = std::min(rest.find('\n'), rest.size());
    hash_.add(rest.substr(0, length));
    hash_.add("\n");
    at_ += std::min(length + 1, rest.size());
  }
  return true;
}

bool LinePrefix::at_end() { return !open_next(); }

std::string LinePrefix::hash() const { return fmt::format("{:016x}", hash_.value()); }

}  // namespace attend::cli
