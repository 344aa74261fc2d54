// What the commands of `attend data` on parallel text have in common: two files in, two files out, and a report.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "attend/base/interrupt.h"
#include "attend/base/output_files.h"
#include "attend/base/progress.h"
#include "attend/cli/support/flags.h"
#include "attend/cli/support/streams.h"
#include "attend/data/corpus/pair_reader.h"

namespace attend::cli {

struct CorpusIn {
  std::string source, target;
  data::PairFiles files() const { return {source, target}; }
};
void list_flags(Flags& flags, CorpusIn& in);

struct CorpusOut {
  std::string source, target, report;
};
void list_flags(Flags& flags, CorpusOut& out);

// Two output files, line by line.
class PairWriter {
 public:
  PairWriter(OutputFiles& outputs, const std::string& source, const std::string& target)
      : source_(outputs.writer(source)), target_(outputs.writer(target)) {}
  void write(const data::PairView& pair);
  void finish();  // before OutputFiles::commit()
  std::int64_t count() const { return count_; }

 private:
  FileWriter source_, target_;
  std::string source_lines_, target_lines_;
  std::int64_t count_ = 0;
};

// Pairs read so far, on the terminal; Ctrl-C ends the command and leaves old files as they were.
class PairProgress {
 public:
  PairProgress(const Streams& streams, const std::string& label);
  void update(std::int64_t pairs);

 private:
  const Streams& streams_;
  std::string label_;
  const InterruptGuard interrupt_;
};

// Counts by name, printed as a table and written as JSON (--report).
struct CorpusReport {
  std::string title;
  std::vector<std::pair<std::string, std::int64_t>> counts = {};
};
void print_report(const CorpusReport& report, const Streams& streams);
void write_report(const CorpusReport& report, OutputFiles& outputs, const std::string& path);  // "": nowhere

}  // namespace attend::cli
