#include "attend/cli/support/shared_windows.h"

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <span>
#include <utility>

#include "attend/base/error.h"
#include "attend/cli/support/flags.h"
#include "attend/world/agreement.h"

namespace attend::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostWindows = 32;                  // of a process, until answers are collected
constexpr std::size_t kMostBytes = std::size_t{64} << 20;  // of all answers that are collected at once

}  // namespace

void add_batch_flag(Flags& flags, std::int64_t& batch, const std::string& what) {
  flags.add("--batch", batch, what).between(1, 100000);
}

void add_output_flags(Flags& flags, std::string& output, bool& resume, const std::string& what) {
  flags.add("--output", output,
            "File for " + what + ", written as NAME.partial until it is complete. Standard output by default.");
  flags.add("--resume", resume,
            "Continue an interrupted run of the same command from NAME.resume next to --output. Lines added to the "
            "input since are processed too.");
}

namespace {

Json asked_of(const SharedWindowsOptions& options) {
  Json asked = options.asked;
  asked["lines at once"] = static_cast<std::uint64_t>(options.window);
  return asked;
}

// What all processes have to be told alike. That the bytes of the files are the same is not asked: it takes reading.
Json told(const SharedWindowsOptions& options) {
  Json files = Json::array();
  for (const std::string& name : options.files) {
    std::error_code error;
    const std::uintmax_t size = fs::file_size(name, error);
    files.push_back({{"name", name}, {"bytes", error ? std::uintmax_t{0} : size}});
  }
  Json command = asked_of(options);
  command["model"] = options.model.string();
  command["files"] = std::move(files);
  return command;
}

}  // namespace

SharedWindows::SharedWindows(const Streams& streams, const SharedWindowsOptions& options)
    : world_(*streams.world),
      output_(streams, {.files = options.files,
                        .output = options.output,
                        .resume = options.resume,
                        .model = options.model,
                        .asked = asked_of(options)}),
      out_(&streams.out) {
  check((world_.size() == 1 && !options.resume) || !options.files.empty(),
        "{}: name the files, standard input cannot be read {}",
        options.resume ? "--resume" : std::to_string(world_.size()) + " processes",
        options.resume ? "again" : "by all of them");
  world::check_agreement(world_, told(options));
  std::int64_t found[] = {output_.complete(), output_.lines()};
  world_.broadcast(std::as_writable_bytes(std::span(found)), 0);
  complete_ = found[0] != 0, lines_ = found[1];
  if (world_.size() > 1 || !output_.to_standard_output()) out_ = &waiting_;
}

void SharedWindows::run(const std::function<void()>& body) const {
  try {
    body();
  } catch (const Error& error) {
    const std::string more = output_.where_the_rest_is();
    if (more.empty()) throw;
    fail("{}{}", error.what(), more);
  }
}

std::int64_t SharedWindows::skip(LineInput& input) const {
  std::string line;
  for (std::int64_t i = 0; i < lines_; ++i)
    check(input.next(line), "--resume: {} lines are done, but there are only {}", lines_, i);
  return lines_;
}

void SharedWindows::next(std::size_t lines) {
  if (mine()) ends_.push_back(waiting_.view().size());
  pending_ += static_cast<std::int64_t>(lines);
  if (++window_ == windows_each_ * world_.size()) collect();
}

void SharedWindows::finish() {
  if (window_ > 0) collect();
  if (world_.is_root()) output_.finish();
}

// Each process sends its windows; those of all, in turns, are the order of the lines.
void SharedWindows::collect() {
  std::size_t longest = 0;
  if (out_ == &waiting_) {
    if (world_.size() > 1) world_.barrier_after_work();
    const std::vector<std::string> texts = world_.all_gather(waiting_.str());
    std::string all_ends(reinterpret_cast<const char*>(ends_.data()), ends_.size() * sizeof(std::size_t));
    const std::vector<std::string> ends = world_.all_gather(all_ends);
    for (std::int64_t window = 0; window < window_; ++window) {
      const auto rank = static_cast<std::size_t>(window % world_.size());
      const auto round = static_cast<std::size_t>(window / world_.size());
      std::vector<std::size_t> places(ends[rank].size() / sizeof(std::size_t));
      std::copy_n(ends[rank].data(), ends[rank].size(), reinterpret_cast<char*>(places.data()));
      const std::size_t begin = round == 0 ? 0 : places[round - 1];
      if (world_.is_root()) output_.put(texts[rank].substr(begin, places[round] - begin));
    }
    for (const std::string& text : texts) longest = std::max(longest, text.size());
    waiting_.str("");
  }
  ends_.clear();
  const std::int64_t answered = std::exchange(pending_, 0);
  lines_ += answered;
  if (world_.is_root()) output_.done(answered);
  const std::size_t of_all = longest * static_cast<std::size_t>(world_.size());
  if (world_.size() > 1 && windows_each_ < kMostWindows && of_all * 2 <= kMostBytes) windows_each_ *= 2;
  window_ = 0;
}

}  // namespace attend::cli
