#include "attend/cli/support/corpus_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <ostream>

#include "attend/base/json.h"

namespace attend::cli {

namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 18;
constexpr std::int64_t kPairsBetweenChecks = 4096;

}  // namespace

void list_flags(Flags& flags, CorpusIn& in) {
  flags.add("--source", in.source, "Sentences in the source language, one per line, plain or .gz.")
      .takes("FILE")
      .required();
  flags.add("--target", in.target, "Their translations, line by line.").takes("FILE").required();
}

void list_flags(Flags& flags, CorpusOut& out) {
  flags.add("--out-source", out.source, "File for the source sentences.").takes("FILE").required();
  flags.add("--out-target", out.target, "File for the translations.").takes("FILE").required();
  flags.add("--report", out.report, "File for the counts, as JSON.").takes("FILE");
}

void PairWriter::write(const data::PairView& pair) {
  source_lines_ += pair.source, source_lines_ += '\n';
  target_lines_ += pair.target, target_lines_ += '\n';
  ++count_;
  if (source_lines_.size() + target_lines_.size() >= kBufferBytes) finish();
}

void PairWriter::finish() {
  source_(source_lines_), target_(target_lines_);
  source_lines_.clear(), target_lines_.clear();
}

PairProgress::PairProgress(const Streams& streams, const std::string& label) : streams_(streams), label_(label) {}

void PairProgress::update(std::int64_t pairs) {
  if (pairs % kPairsBetweenChecks != 0) return;
  if (interrupt_.requested()) throw Interrupted{interrupt_.signal()};
  if (streams_.err_terminal.interactive)
    streams_.err << fmt::format("\r{}  {} pairs", label_, with_commas(pairs)) << std::flush;
}

void print_report(const CorpusReport& report, const Streams& streams) {
  if (streams.err_terminal.interactive) streams.err << "\r\x1b[K" << std::flush;
  std::size_t widest = 0, digits = 0;
  for (const auto& [name, count] : report.counts)
    widest = std::max(widest, name.size()), digits = std::max(digits, with_commas(count).size());
  streams.out << report.title << '\n';
  for (const auto& [name, count] : report.counts)
    streams.out << fmt::format("  {:<{}}  {:>{}}\n", name, widest, with_commas(count), digits);
}

void write_report(const CorpusReport& report, OutputFiles& outputs, const std::string& path) {
  if (path.empty()) return;
  Json counts = Json::object();
  for (const auto& [name, count] : report.counts) counts[name] = count;
  outputs.write(path, counts.dump(2) + "\n");
}

}  // namespace attend::cli
