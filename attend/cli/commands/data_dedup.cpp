#include "attend/base/unicode/unicode.h"
#include "attend/cli/commands/data_corpus.h"
#include "attend/cli/support/command.h"

namespace attend::cli {

namespace {

constexpr const char* kDataDedupExamples = R"(
  attend data dedup --source clean.en --target clean.fr --out-source unique.en --out-target unique.fr
  attend data dedup --source clean.en --target clean.fr --out-source unique.en --out-target unique.fr --exact # keep near-duplicates
  attend data dedup --source clean.en --target clean.fr --out-source unique.en --out-target unique.fr --by source # one translation for each sentence)";

}  // namespace

void run_data_dedup(const DataDedupOptions& options, const Streams& streams) {
  OutputFiles outputs({.outputs = {{"--out-source", options.out.source},
                                   {"--out-target", options.out.target},
                                   {"--report", options.out.report}},
                       .inputs = {options.in.source, options.in.target}});
  data::DuplicateFilter filter(options.rules);
  PairWriter writer(outputs, options.out.source, options.out.target);
  PairProgress progress(streams, "comparing");
  data::PairReader reader(options.in.files());
  std::int64_t invalid = 0, exact = 0, near = 0;
  for (data::PairView pair; reader.next(pair); progress.update(reader.count())) {
    if (find_invalid_utf8(pair.source) || find_invalid_utf8(pair.target)) {
      ++invalid;
      continue;
    }
    const data::Duplicate found = filter.add(pair);
    exact += found == data::Duplicate::exact, near += found == data::Duplicate::near;
    if (found == data::Duplicate::none) writer.write(pair);
  }
  writer.finish();
  const CorpusReport report = {.title = options.in.source + " and " + options.in.target,
                               .counts = {{"read", reader.count()},
                                          {"kept", writer.count()},
                                          {"dropped: duplicates", exact},
                                          {"dropped: near-duplicates", near},
                                          {"dropped: not UTF-8", invalid}}};
  write_report(report, outputs, options.out.report);
  outputs.commit();
  print_report(report, streams);
}

void add_data_dedup_command(Flags& data, const Streams& streams) {
  add_command<DataDedupOptions>(
      data, streams,
      {.name = "dedup",
       .help = "Drop repeated and nearly repeated pairs from parallel text; the first one stays.",
       .examples = kDataDedupExamples,
       .notes = {"Case, space and punctuation do not count. Near-duplicates share most word trigrams (MinHash); digits "
                 "are all alike there, so lines that differ only in their numbers are near-duplicates."}},
      [](Flags& flags, DataDedupOptions& options) {
        list_flags(flags, options.in);
        list_flags(flags, options.out);
        flags.add("--near,!--exact", options.rules.near, "Also drop near-duplicates; --exact keeps them.");
        flags.add("--by", options.rules.side,
                  {{"pair", data::DuplicateSide::pair},
                   {"source", data::DuplicateSide::source},
                   {"target", data::DuplicateSide::target},
                   {"either", data::DuplicateSide::either}},
                  "What makes a duplicate: the pair, one side, or either side.");
      },
      run_data_dedup);
}

}  // namespace attend::cli
