#include "attend/cli/support/line_output.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ostream>
#include <system_error>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/file_mark.h"
#include "attend/base/mapped_file.h"
#include "attend/base/os.h"
#include "attend/base/paths.h"
#include "attend/tasks/model_folder.h"
#include "attend/world/agreement.h"

namespace attend::cli {

namespace {

namespace fs = std::filesystem;

std::string hex(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

[[noreturn]] void fail_to_write(const fs::path& path, int code) {
  fail("cannot write '{}': {}", path.string(), std::generic_category().message(code));
}

bool is_plain_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

// The hash of the first bytes of a file.
std::string hash_of_beginning(const fs::path& path, std::size_t bytes) {
  const MappedFile file(path);
  ByteHash hash;
  hash.add(file.text().substr(0, bytes));
  file.check_whole();
  return hex(hash.value());
}

}  // namespace

LineOutput::LineOutput(const Streams& streams, LineOutputOptions options)
    : streams_(streams), options_(std::move(options)), input_(options_.files), file_(-1) {
  if (options_.output == "-") options_.output.clear();
  check(!options_.resume || !options_.output.empty(), "--resume needs --output, the file that is gone on with");
  if (options_.output.empty() || !streams_.world->is_root()) return;
  place_ = output_place(options_.output);
  to_file_ = !place_.special;
  check(to_file_ || !options_.resume, "--resume: '{}' is a device or a pipe, which cannot be gone on with",
        options_.output);
  notes_ = to_file_ && !options_.files.empty();
  for (const std::string& name : options_.files) {
    const bool again = is_plain_file(name);
    check(again || !options_.resume, "--resume: '{}' is no plain file, and cannot be read again", name);
    notes_ = notes_ && again;
  }
  if (!notes_) return;
  model_hash_ = hex(tasks::model_hash(options_.model));
  if (options_.resume) look_around();
}

LineOutput::~LineOutput() {
  if (!begun_ || finished_) return;
  if (lines_ > 0) return;
  ::unlink(partial().c_str());
  if (notes_) ::unlink(note_path().c_str());
}

void LineOutput::look_around() {
  if (path_exists(note_path())) return go_on_from_note(read_json(note_path()));
  std::error_code error;
  if (!place_.there || fs::file_size(place_.path, error) == 0) return;
  check(path_exists(done_path()),
        "--resume: '{}' is there, but nothing beside it ('{}') says what wrote it; without --resume it is replaced",
        options_.output, done_path().string());
  compare_with_done(read_json(done_path()));
}

std::int64_t LineOutput::number(const Json& kept, const char* key, const fs::path& from) const {
  check(kept.is_object() && kept.contains(key) && kept[key].is_number_unsigned() &&
            kept[key].get<std::uint64_t>() <= std::uint64_t{1} << 62,
        "'{}' is damaged; remove it", from.string());
  return kept[key].get<std::int64_t>();
}

// The model by its bytes, everything else by its value.
void LineOutput::check_same_command(const Json& kept) const {
  Json was = kept, is = note(false);
  for (const char* key : {"lines", "bytes", "hash", "complete", "input", "model"}) was.erase(key), is.erase(key);
  const std::string difference = world::first_difference({is, "this command"}, {was, "the one before"});
  check(difference.empty(), "'{}' was written by another command: {}; without --resume it is replaced", options_.output,
        difference);
  const auto model_of = [&](const char* key) {
    const auto model = kept.find("model");
    const bool good = model != kept.end() && model->is_object() && model->contains(key) && (*model)[key].is_string();
    return good ? (*model)[key].text() : std::string("?");
  };
  if (model_of("hash") == model_hash_) return;
  const std::string old = model_of("folder"), now = options_.model.string();
  fail("'{}' was written by another model: {}; without --resume it is replaced", options_.output,
       old == now ? fmt::format("the files of '{}' have changed since", now)
                  : fmt::format("'{}', and not '{}'", old, now));
}

// Behind these lines there may be others now: they are answered. Those in front have to be what they were.
void LineOutput::read_what_is_answered(const Json& kept) {
  const bool there = input_.advance(lines_);
  check(there, "'{}' has answers to {} lines, but the input has fewer now; without --resume it is replaced",
        options_.output, lines_);
  check(lines_ == 0 || (kept.contains("input") && kept["input"] == Json(input_.hash())),
        "'{}' was written from other lines: the first {} of the input have changed since; without --resume it is "
        "replaced",
        options_.output, lines_);
}

bool LineOutput::is_what_was_written(const Json& kept) const {
  std::error_code error;
  const auto bytes = static_cast<std::uintmax_t>(number(kept, "bytes", note_path()));
  return place_.there && fs::file_size(place_.path, error) == bytes && kept.contains("hash") &&
         kept["hash"] == Json(hash_of_beginning(place_.path, bytes));
}

void LineOutput::go_on_from_note(const Json& kept) {
  lines_ = number(kept, "lines", note_path()), bytes_ = number(kept, "bytes", note_path());
  check_same_command(kept);
  read_what_is_answered(kept);
  std::error_code error;
  const bool whole = kept.contains("complete") && kept["complete"] == Json(true);
  if (whole && !path_exists(partial()) && is_what_was_written(kept)) {  // it was killed after the rename
    from_complete_ = !input_.at_end();
    if (from_complete_) return;
    close_note();
    return say_complete();
  }
  const auto there = path_exists(partial()) ? fs::file_size(partial(), error) : 0;
  check(there >= static_cast<std::uintmax_t>(bytes_), "'{}' is shorter than '{}' says; remove that to begin anew",
        partial().string(), note_path().string());
}

void LineOutput::compare_with_done(const Json& kept) {
  lines_ = number(kept, "lines", done_path()), bytes_ = number(kept, "bytes", done_path());
  check_same_command(kept);
  check(is_what_was_written(kept), "--resume: '{}' was changed since it was written; without --resume it is replaced",
        options_.output);
  read_what_is_answered(kept);
  if (input_.at_end()) return say_complete();
  from_complete_ = true;
}

void LineOutput::say_complete() {
  complete_ = true;
  streams_.err << "attend: '" << options_.output << "' is complete\n" << std::flush;
}

Json LineOutput::note(bool complete) const {
  Json note = options_.asked;
  note["model"] = {{"folder", options_.model.string()}, {"hash", model_hash_}};
  note["input"] = input_.hash();
  note["lines"] = static_cast<std::uint64_t>(lines_);
  note["bytes"] = static_cast<std::uint64_t>(bytes_);
  note["hash"] = hex(hash_.value());
  note["complete"] = complete;
  return note;
}

void LineOutput::keep_note(bool complete) const {
  if (notes_) write_file(note_path(), note(complete).dump() + "\n");
}

// Nothing is touched before there are answers. The note comes first: it says what the file beside it is.
void LineOutput::begin() {
  begun_ = true;
  if (!to_file_) {
    file_ = Descriptor(os::open(place_.path, O_WRONLY));
    if (file_.get() < 0) fail_to_write(place_.path, errno);
    return;
  }
  make_folders(place_.path.parent_path());
  std::error_code error;
  if (from_complete_) write_file(partial(), [&](const FileWriter& write) { write(MappedFile(place_.path).text()); });
  if (bytes_ > 0) {
    const MappedFile before(partial());
    hash_.add(before.text().substr(0, static_cast<std::size_t>(bytes_)));
    before.check_whole();
  }
  keep_note(false);
  file_ = Descriptor(os::open(partial(), O_WRONLY | O_CREAT | (bytes_ == 0 ? O_TRUNC : 0), 0666));
  if (file_.get() < 0) fail_to_write(partial(), errno);
  if (bytes_ > 0 && (::ftruncate(file_.get(), bytes_) != 0 || ::lseek(file_.get(), 0, SEEK_END) < 0))
    fail_to_write(partial(), errno);
  struct stat old {};
  if (place_.there && ::stat(place_.path.c_str(), &old) == 0) ::fchmod(file_.get(), old.st_mode & 07777);
}

void LineOutput::put(const std::string& text) {
  if (options_.output.empty()) {
    streams_.out << text;
    return;
  }
  if (!begun_) begin();
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t written = os::write(file_.get(), rest.data(), rest.size(), partial());
    if (written < 0) fail_to_write(to_file_ ? partial() : place_.path, errno);
    hash_.add(rest.substr(0, static_cast<std::size_t>(written)));
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  bytes_ += static_cast<std::int64_t>(text.size());
}

void LineOutput::done(std::int64_t lines) {
  lines_ += lines;
  if (options_.output.empty()) {
    streams_.out.flush();
    check(streams_.out.good(), "cannot write the output");
    return;
  }
  if (!begun_) begin();
  // Lines that were added while we read are there, too: else nothing could be said about them.
  if (notes_ && !input_.advance(lines)) notes_ = false, ::unlink(note_path().c_str());
  keep_note(false);
}

// Killed anywhere in here, it is finished by the next --resume.
void LineOutput::finish() {
  finished_ = true;
  if (options_.output.empty()) return;
  if (!begun_) begin();  // an empty input has an empty answer
  if (!to_file_) return;
  if (os::flush(file_.get(), partial()) != 0) fail_to_write(partial(), errno);
  keep_note(true);
  if (os::rename(partial(), place_.path) != 0) fail_to_write(place_.path, errno);
  flush_folder(place_.path.parent_path());
  close_note();
}

// What was asked for without --resume leaves one file, and no record of another that was there before.
void LineOutput::close_note() {
  if (options_.resume && notes_) return move_file(note_path(), done_path());
  remove_file(done_path());
  if (notes_) remove_file(note_path());
}

std::string LineOutput::where_the_rest_is() const {
  if (!to_file_ || !begun_ || lines_ == 0) return "";
  return fmt::format("; {} lines before it are answered in '{}'{}", lines_, partial().string(),
                     notes_ ? ", and --resume continues after them" : "");
}

}  // namespace attend::cli
