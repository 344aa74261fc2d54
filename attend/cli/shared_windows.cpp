#include "attend/cli/shared_windows.h"

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <span>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/cli/flags.h"
#include "attend/world/agreement.h"

namespace attend {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostWindows = 32;                  // of a process, until answers are collected
constexpr std::size_t kMostBytes = std::size_t{64} << 20;  // of all answers that are collected at once

}  // namespace

void add_batch_flag(Flags& flags, std::int64_t& batch, const std::string& what) {
  flags.add("--batch", batch, what).between(1, 100000);
}

void add_output_flags(Flags& flags, std::string& output, bool& resume, const std::string& what) {
  flags.add("--output", output, "where " + what + " go; standard output if not given");
  flags.add("--resume", resume,
            "goes on where the same command was stopped or killed, by a note beside --output (NAME.resume)");
}

SharedWindows::SharedWindows(const Streams& streams, SharedWindowsOptions options)
    : world_(*streams.world), streams_(streams), options_(std::move(options)), out_(&streams.out) {
  check(!options_.resume || !options_.output.empty(), "--resume needs --output, the file that is gone on with");
  check((world_.size() == 1 && !options_.resume) || !options_.files.empty(),
        "{}: name the files, standard input cannot be read {}",
        options_.resume ? "--resume" : std::to_string(world_.size()) + " processes",
        options_.resume ? "again" : "by all of them");
  for (const std::string& name : options_.files) {
    std::error_code error;
    check(options_.output.empty() || !fs::equivalent(name, options_.output, error),
          "--output '{}' is one of the files that are read, and would be lost", options_.output);
  }
  check_agreement(world_, command());
  std::int64_t found[] = {0, 0, 0};
  if (world_.leads() && !options_.output.empty()) {
    if (options_.resume) go_on_from_note();
    if (!complete_) open_file();
    found[0] = complete_, found[1] = lines_, found[2] = bytes_;
  }
  world_.broadcast(std::as_writable_bytes(std::span(found)), 0);
  complete_ = found[0] != 0, lines_ = found[1], bytes_ = found[2];
  if (world_.size() > 1 || !options_.output.empty()) out_ = &waiting_;
}

void SharedWindows::go_on_from_note() {
  std::error_code error;
  const bool there = fs::exists(options_.output, error);
  if (!fs::exists(note_path(), error)) {
    complete_ = there;
    if (complete_) streams_.err << "attend: '" << options_.output << "' is complete\n" << std::flush;
    return;
  }
  const Json kept = read_json(note_path());
  const auto number = [&](const char* key) {
    check(kept.is_object() && kept.contains(key) && kept[key].is_number_unsigned(), "'{}' is damaged; remove it",
          note_path());
    return kept[key].get<std::int64_t>();
  };
  lines_ = number("lines"), bytes_ = number("bytes");
  const std::string difference = first_difference({note(), "this command"}, {kept, "the one that was stopped"});
  check(difference.empty(), "'{}' was begun by another command: {}; remove '{}' to begin anew", options_.output,
        difference, note_path());
  check(bytes_ == 0 || (there && fs::file_size(options_.output, error) >= static_cast<std::uintmax_t>(bytes_)),
        "'{}' is shorter than '{}' says; remove that to begin anew", options_.output, note_path());
}

void SharedWindows::open_file() {
  std::error_code error;
  notes_ = options_.resume || (!options_.files.empty() &&
                               (!fs::exists(options_.output, error) || fs::is_regular_file(options_.output, error)));
  keep_note();  // first: without it the file counts as complete
  error.clear();
  if (bytes_ > 0) fs::resize_file(options_.output, static_cast<std::uintmax_t>(bytes_), error);
  check(!error, "cannot write '{}': {}", options_.output, error.message());
  file_.open(options_.output, bytes_ > 0 ? std::ios::binary | std::ios::app : std::ios::binary);
  check(file_.is_open(), "cannot write '{}'", options_.output);
}

Json SharedWindows::command() const {
  Json files = Json::array();
  for (const std::string& name : options_.files) {
    std::error_code error;
    const std::uintmax_t size = fs::file_size(name, error);
    files.push_back({{"name", name}, {"bytes", error ? std::uintmax_t{0} : size}});
  }
  Json command = options_.asked;
  command["lines at once"] = static_cast<std::uint64_t>(options_.window);
  command["files"] = std::move(files);
  return command;
}

Json SharedWindows::note() const {
  Json note = command();
  note["lines"] = static_cast<std::uint64_t>(lines_);
  note["bytes"] = static_cast<std::uint64_t>(bytes_);
  return note;
}

void SharedWindows::keep_note() const {
  if (notes_) write_file(note_path(), note().dump() + "\n");
}

std::int64_t SharedWindows::skip(LineInput& input) const {
  std::string line;
  for (std::int64_t i = 0; i < lines_; ++i)
    check(input.next(line), "'{}' says that {} lines are done, but there are only {}", note_path(), lines_, i);
  return lines_;
}

void SharedWindows::next(std::size_t lines) {
  if (mine()) ends_.push_back(waiting_.view().size());
  pending_ += static_cast<std::int64_t>(lines);
  if (++window_ == windows_each_ * world_.size()) collect();
}

void SharedWindows::finish() {
  if (window_ > 0) collect();
  if (notes_) remove_file(note_path());
}

void SharedWindows::put(const std::string& text) {
  bytes_ += static_cast<std::int64_t>(text.size());
  if (world_.leads()) (options_.output.empty() ? streams_.out : file_) << text;
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
      put(texts[rank].substr(begin, places[round] - begin));
    }
    for (const std::string& text : texts) longest = std::max(longest, text.size());
    waiting_.str("");
  }
  ends_.clear();
  lines_ += std::exchange(pending_, 0);
  if (world_.leads()) {
    std::ostream& to = options_.output.empty() ? streams_.out : file_;
    to.flush();
    check(to.good(), "cannot write {}",
          options_.output.empty() ? std::string("the output") : "'" + options_.output + "'");
  }
  keep_note();
  const std::size_t of_all = longest * static_cast<std::size_t>(world_.size());
  if (world_.size() > 1 && windows_each_ < kMostWindows && of_all * 2 <= kMostBytes) windows_each_ *= 2;
  window_ = 0;
}

}  // namespace attend
