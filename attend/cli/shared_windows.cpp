#include "attend/cli/shared_windows.h"

#include <ostream>

#include "attend/base/error.h"

namespace attend {

SharedWindows::SharedWindows(const Streams& streams, const std::vector<std::string>& files)
    : world_(*streams.world), out_(streams.out) {
  if (world_.size() == 1) return;
  check(!files.empty(), "{} processes read the same files: name them, standard input is only the first one's",
        world_.size());
  to_ = out_.rdbuf(&waiting_);
}

SharedWindows::~SharedWindows() {
  if (to_) out_.rdbuf(to_);
}

void SharedWindows::next() {
  if (world_.size() == 1)
    out_.flush();
  else if (++window_ == world_.size())
    write_round();
}

void SharedWindows::finish() {
  if (window_ > 0) write_round();
}

void SharedWindows::write_round() {
  window_ = 0;
  world_.barrier_after_work();
  for (const std::string& text : world_.all_gather(waiting_.str()))
    if (world_.leads()) to_->sputn(text.data(), static_cast<std::streamsize>(text.size()));
  if (world_.leads()) to_->pubsync();
  waiting_.str("");
}

}  // namespace attend
