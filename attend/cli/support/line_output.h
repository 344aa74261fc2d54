// Where the answers about lines go: to standard output, to a device or pipe, or to a file that can be gone on with.
//
// A file is written beside its place, as NAME.partial, and renamed to NAME when all lines are answered. A note beside
// it (NAME.resume) says what is being written: the command, the model, the input, how many lines and bytes are done.
// A command that was stopped or killed goes on from there with --resume. Of a command with --resume the note stays
// afterwards, as NAME.done, so that the next one knows whether NAME is the answer to what it is asked.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/base/output_files.h"
#include "attend/cli/support/line_prefix.h"
#include "attend/cli/support/streams.h"

namespace attend::cli {

struct LineOutputOptions {
  std::vector<std::string> files = {};  // none: standard input
  std::string output = {};              // empty or "-": standard output
  bool resume = false;
  std::filesystem::path model = {};
  Json asked = Json::object();  // the flags that answers depend on
};

class LineOutput {
 public:
  // Touches no file: what is there is found out, and whether it can be gone on with.
  LineOutput(const Streams& streams, LineOutputOptions options);
  ~LineOutput();  // without a finished line it leaves nothing behind
  LineOutput(const LineOutput&) = delete;
  LineOutput& operator=(const LineOutput&) = delete;

  bool complete() const { return complete_; }  // by an earlier command
  std::int64_t lines() const { return lines_; }
  bool to_standard_output() const { return options_.output.empty(); }
  bool keeps_note() const { return notes_; }  // so that --resume can go on

  void put(const std::string& text);
  void done(std::int64_t lines);  // so many more are answered, by all that was put
  void finish();
  // Behind a message about what went wrong: where the answers are that were there before.
  std::string where_the_rest_is() const;

 private:
  std::filesystem::path beside(const char* ending) const { return place_.path.string() + ending; }
  std::filesystem::path partial() const { return beside(".partial"); }
  std::filesystem::path note_path() const { return beside(".resume"); }
  std::filesystem::path done_path() const { return beside(".done"); }

  void look_around();
  void go_on_from_note(const Json& note);
  void compare_with_done(const Json& done);
  void check_same_command(const Json& kept) const;
  void read_what_is_answered(const Json& kept);
  std::int64_t number(const Json& kept, const char* key, const std::filesystem::path& from) const;
  bool is_what_was_written(const Json& kept) const;
  Json note(bool complete) const;
  void keep_note(bool complete) const;
  void begin();
  void close_note();
  void say_complete();

  const Streams& streams_;
  LineOutputOptions options_;
  OutputPlace place_;
  LinePrefix input_;  // what is answered, where notes are kept
  std::string model_hash_;
  bool to_file_ = false, notes_ = false, complete_ = false, begun_ = false, finished_ = false;
  bool from_complete_ = false;  // goes on from the finished file, of which the input has grown
  std::int64_t lines_ = 0, bytes_ = 0;
  ByteHash hash_;  // of all that was written
  Descriptor file_;
};

}  // namespace attend::cli
