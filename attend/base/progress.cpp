#include "attend/base/progress.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>
#include <utility>

namespace attend {

namespace {

constexpr int kMinBar = 8, kMaxBar = 30;

// A bar of `width` columns in eighths of a column.
std::string bar_text(double fraction, int width) {
  static constexpr std::array<const char*, 8> kParts = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(std::lround(fraction * width * 8));
  std::string bar;
  for (int i = 0; i < eighths / 8; ++i) bar += "█";
  bar += kParts[static_cast<std::size_t>(eighths % 8)];
  const int used = eighths / 8 + (eighths % 8 ? 1 : 0);
  return bar + std::string(static_cast<std::size_t>(width - used), ' ');
}

// The columns of UTF-8 text whose characters are all one column wide.
int columns(std::string_view text) {
  return static_cast<int>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

// The first `width` columns of text.
std::string cut(std::string_view text, int width) {
  std::size_t end = 0;
  for (int column = 0; end < text.size(); ++end)
    if ((text[end] & 0xC0) != 0x80 && column++ == width) break;
  return std::string(text.substr(0, end));
}

}  // namespace

std::string duration_text(double seconds) {
  const auto whole = static_cast<long long>(std::llround(std::max(seconds, 0.0)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

std::string with_commas(std::int64_t number) {
  std::string text = std::to_string(number);
  const std::size_t sign = number < 0 ? 1 : 0;
  for (std::size_t at = text.size(); at > 3 + sign; at -= 3) text.insert(at - 3, ",");
  return text;
}

std::string rate_text(double per_second) {
  if (per_second >= 999.5e3) return fmt::format("{:.1f}M/s", per_second / 1e6);
  if (per_second >= 999.5) return fmt::format("{:.1f}k/s", per_second / 1e3);
  return per_second >= 10 ? fmt::format("{:.1f}/s", per_second) : fmt::format("{:.2f}/s", per_second);
}

Progress::Progress(std::ostream& out, Options options)
    : out_(out), options_(std::move(options)), start_(options_.clock()) {
  done_ = options_.by_time ? std::min(options_.start, options_.total) : options_.start;
}

Progress::~Progress() {
  if (line_open_) out_ << '\n' << std::flush;
}

double Progress::elapsed() const { return std::chrono::duration<double>(options_.clock() - start_).count(); }

bool Progress::wants_text() const {
  if (finished_) return false;
  const double interval = options_.terminal.interactive ? options_.redraw_seconds : options_.line_seconds;
  // A terminal shows the bar at once; a log waits until there is something to tell.
  if (drawn_at_ < 0) return options_.terminal.interactive || elapsed() >= interval;
  return elapsed() - drawn_at_ >= interval;
}

void Progress::update(std::int64_t done, std::string_view text) {
  done_ = options_.total > 0 ? std::min(done, options_.total) : done;  // a bar that is full says so, not 181/180
  if (wants_text()) draw(text, false);
}

void Progress::finish(std::string_view text) {
  if (finished_) return;
  draw(text, true);
  finished_ = true;
}

void Progress::print(std::string_view message) {
  if (line_open_) out_ << "\r\x1b[K";
  line_open_ = false;
  out_ << message << '\n' << std::flush;
  drawn_at_ = -1;
}

std::string Progress::line(std::string_view text, bool finished) const {
  const double seconds = elapsed();
  const double fraction =
      options_.total > 0 ? std::clamp(static_cast<double>(done_) / static_cast<double>(options_.total), 0.0, 1.0) : 1;
  const auto seconds_text = [](std::int64_t count) { return duration_text(static_cast<double>(count)); };
  const std::string place =
      fmt::format("{:3.0f} %  {}", std::floor(fraction * 100),
                  options_.by_time ? fmt::format("{} of {}", seconds_text(done_), seconds_text(options_.total))
                                   : fmt::format("{}/{}", done_, options_.total));
  std::string rate, end;
  if (options_.by_time) {
    if (!finished) end = fmt::format("  {} left", seconds_text(options_.total - done_));
  } else if (done_ > options_.start && seconds > 0) {
    const double per_second = static_cast<double>(done_ - options_.start) / seconds;
    rate = "  " + rate_text(per_second);
    if (!finished)
      end = fmt::format("  {} left", duration_text(static_cast<double>(options_.total - done_) / per_second));
  }
  if (finished) end = fmt::format("  in {}", duration_text(seconds));
  std::string said = text.empty() ? "" : fmt::format("  {}", text);

  const std::string label = options_.label.empty() ? "" : options_.label + "  ";
  std::string numbers = place + rate + said + end;
  if (!options_.terminal.interactive) return label + numbers;
  // One column stays free: many terminals wrap as soon as the last one is written.
  const int room = std::max(options_.terminal.width - 1, 1);
  const int bar = std::min(room - columns(label) - columns(numbers) - 2, kMaxBar);
  if (bar < kMinBar) {
    // Where there is no room for all, how long it takes is worth more than what else there is to say.
    const auto fits = [&] { return columns(label + place + rate + said + end) <= room; };
    if (!fits()) rate.clear();
    while (!fits() && !said.empty()) said.resize(said.rfind("  "));
    return cut(label + place + rate + said + end, room);
  }
  const std::string drawn = bar_text(fraction, bar);
  return label + (options_.terminal.color ? "\x1b[36m" + drawn + "\x1b[0m" : drawn) + "  " + numbers;
}

void Progress::draw(std::string_view text, bool finished) {
  if (options_.terminal.interactive) {
    // Back to the start, the new line, and whatever is left of a longer old one erased.
    out_ << '\r' << line(text, finished) << "\x1b[K";
    line_open_ = !finished;
    if (finished) out_ << '\n';
  } else {
    out_ << line(text, finished) << '\n';
  }
  out_ << std::flush;
  drawn_at_ = elapsed();
}

}  // namespace attend
