// A progress bar for a loop of known length. In a terminal it redraws one line:
//   training  ███████▌          37 %  148/400  61.2/s  loss 0.431  4 s left
// or, of a loop that ends by the clock,
//   training  ███████▌          37 %  1 min 07 s of 3 min 00 s  loss 0.431  1 min 53 s left
// Elsewhere (a file, CI) it prints such a line without the bar every few seconds, and one at the end.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

#include "attend/base/terminal.h"

namespace attend {

// "4 s", "3 min 20 s", "2 h 05 min".
std::string duration_text(double seconds);

// "159,003".
std::string with_commas(std::int64_t number);

// "61.2/s", "1.4k/s", "0.25/s".
std::string rate_text(double per_second);

class Progress {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;
  struct Options {
    std::string label;
    std::int64_t total = 0;
    std::int64_t start = 0;  // done before this run of the loop: not part of its rate
    bool by_time = false;    // total and what is done are seconds: there is no rate, and the last step may end late
    Terminal terminal = {};
    double redraw_seconds = 0.1;  // in a terminal
    double line_seconds = 10;     // elsewhere
    Clock clock = [] { return std::chrono::steady_clock::now(); };
  };

  Progress(std::ostream& out, Options options);
  // Ends the line in a terminal, so that whatever comes next starts on its own.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // done of total are finished; text is what else to say ("loss 0.431"). Cheap when it is not time to draw yet, so it
  // may be called every step; wants_text() is then false and the text need not be made.
  void update(std::int64_t done, std::string_view text = {});
  bool wants_text() const;

  // A line of its own, above the bar.
  void print(std::string_view message);

  // The last state, drawn for certain, and the end of the line. The destructor does this only for the line's end.
  void finish(std::string_view text = {});

 private:
  double elapsed() const;
  std::string line(std::string_view text, bool finished) const;
  void draw(std::string_view text, bool finished);

  std::ostream& out_;
  Options options_;
  std::chrono::steady_clock::time_point start_;
  std::int64_t done_ = 0;
  double drawn_at_ = -1;    // seconds since the start; negative before the first time
  bool line_open_ = false;  // the cursor stands on a half-finished line
  bool finished_ = false;
};

}  // namespace attend
