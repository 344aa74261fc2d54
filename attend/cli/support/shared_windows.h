// Windows of lines, and where their answers go: to standard output or a file, in order, done by one process or by
// several that were started together (mpirun). Those all read all lines; of as many windows in a row as there are
// processes each computes one, and the first writes what they say. The windows are those of one process alone, and so
// is every byte.
//
//   SharedWindows shared(streams, {.files = files, .output = output, .resume = resume, .window = window, .asked = ..});
//   shared.run([&] {
//     for (first = 1 + shared.skip(input); !(lines = input.next_lines(window)).empty(); first += lines.size()) {
//       if (shared.mine()) shared.out() << answers_to(lines);
//       shared.next(lines.size());
//     }
//     shared.finish();
//   });
//
// LineOutput says how --resume goes on. Answers are collected after 1, 2, 4, .. windows of each process, so that one
// whose lines are long holds nobody up for long.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "attend/base/json.h"
#include "attend/cli/support/line_input.h"
#include "attend/cli/support/line_output.h"
#include "attend/cli/support/streams.h"

namespace attend::cli {

class Flags;

struct SharedWindowsOptions {
  std::vector<std::string> files = {};
  std::string output = {};  // empty: standard output
  bool resume = false;
  std::int64_t window = 1;           // lines
  std::filesystem::path model = {};  // whoever goes on, or works beside this one, has to have the same
  Json asked = Json::object();       // and the same flags
};

// Lines computed together.
void add_batch_flag(Flags& flags, std::int64_t& batch, const std::string& what);
// --output and --resume; what: "translations".
void add_output_flags(Flags& flags, std::string& output, bool& resume, const std::string& what);

class SharedWindows {
 public:
  SharedWindows(const Streams& streams, const SharedWindowsOptions& options);

  bool complete() const { return complete_; }  // by an earlier run: nothing is left to do
  // Calls the body. An Error that it throws says besides where the answers are that were there before.
  void run(const std::function<void()>& body) const;
  // Reads away the lines that are done; how many.
  std::int64_t skip(LineInput& input) const;

  std::ostream& out() { return *out_; }  // for the answers of a window that is mine()
  bool mine() const { return window_ % world_.size() == world_.rank(); }
  void next(std::size_t lines);  // this window is done
  void finish();                 // and so are all
  std::int64_t written() const { return lines_; }
  bool keeps_note() const { return output_.keeps_note(); }  // so that --resume can go on, from whole windows

 private:
  void collect();

  world::World& world_;
  LineOutput output_;  // of the first process
  bool complete_ = false;
  std::ostringstream waiting_;          // of this process
  std::vector<std::size_t> ends_ = {};  // in it, of each window
  std::ostream* out_;
  std::int64_t window_ = 0, windows_each_ = 1;  // since the last time; how many of each process until the next
  std::int64_t lines_ = 0, pending_ = 0;        // that are written, that wait
};

}  // namespace attend::cli
