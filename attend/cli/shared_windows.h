// Windows of lines shared out to processes that were started together (mpirun): all read all lines, of as many windows
// in a row as there are processes each computes one, and the first writes what they say, in the order of the lines. The
// windows are those of one process alone, and so is every byte of the output.
//
//   SharedWindows shared(streams, options.files);
//   for (auto lines = ..; !lines.empty(); ..) {
//     if (shared.mine()) streams.out << answers_to(lines);
//     shared.next();
//   }
//   shared.finish();
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "attend/cli/streams.h"

namespace attend {

class SharedWindows {
 public:
  // While it lives, what goes to streams.out waits for its turn. Alone it changes nothing.
  SharedWindows(const Streams& streams, const std::vector<std::string>& files);
  ~SharedWindows();
  SharedWindows(const SharedWindows&) = delete;
  SharedWindows& operator=(const SharedWindows&) = delete;

  bool mine() const { return window_ % world_.size() == world_.rank(); }
  void next();    // this window is done
  void finish();  // and so are all

 private:
  void write_round();

  World& world_;
  std::ostream& out_;
  std::streambuf* to_ = nullptr;  // where out_ really goes
  std::stringbuf waiting_;
  int window_ = 0;  // of the round
};

}  // namespace attend
