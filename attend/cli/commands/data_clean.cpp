#include <fmt/core.h>

#include "attend/cli/commands/data_corpus.h"
#include "attend/cli/support/command.h"

namespace attend::cli {

namespace {

constexpr const char* kDataCleanExamples = R"(
  attend data clean --source raw.en --target raw.fr --out-source clean.en --out-target clean.fr
  attend data clean --source raw.en.gz --target raw.fr.gz --out-source clean.en --out-target clean.fr --max-words 80 --report clean.json
  attend data clean --source raw.en --target raw.fr --out-source clean.en --out-target clean.fr --exclude newstest2014.en newstest2014.fr)";

}  // namespace

void run_data_clean(const DataCleanOptions& options, const Streams& streams) {
  std::vector<std::filesystem::path> inputs = {options.in.source, options.in.target};
  inputs.insert(inputs.end(), options.exclude.begin(), options.exclude.end());
  OutputFiles outputs({.outputs = {{"--out-source", options.out.source},
                                   {"--out-target", options.out.target},
                                   {"--report", options.out.report}},
                       .inputs = inputs});
  data::PairCleaner cleaner(options.rules, options.rules.language > 0
                                               ? data::LanguageProfile(data::PairReader(options.in.files()))
                                               : data::LanguageProfile());
  for (const std::string& file : options.exclude) cleaner.exclude(file);
  std::array<std::int64_t, data::kPairFaults.size()> counts = {};
  PairWriter writer(outputs, options.out.source, options.out.target);
  PairProgress progress(streams, "cleaning");
  data::PairReader reader(options.in.files());
  for (data::PairView pair; reader.next(pair); progress.update(reader.count())) {
    const data::PairFault fault = cleaner.clean(pair);
    ++counts[static_cast<std::size_t>(fault)];
    if (fault == data::PairFault::none) writer.write({cleaner.source(), cleaner.target()});
  }
  writer.finish();
  CorpusReport report = {.title = options.in.source + " and " + options.in.target,
                         .counts = {{"read", reader.count()}}};
  for (std::size_t i = 0; i < counts.size(); ++i)
    report.counts.emplace_back(i == 0 ? data::kPairFaults[i] : fmt::format("dropped: {}", data::kPairFaults[i]),
                               counts[i]);
  write_report(report, outputs, options.out.report);
  outputs.commit();
  print_report(report, streams);
}

void add_data_clean_command(Flags& data, const Streams& streams) {
  add_command<DataCleanOptions>(
      data, streams,
      {.name = "clean",
       .help = "Drop bad pairs from parallel text: wrong language, lengths, identical sides, test sentences.",
       .examples = kDataCleanExamples,
       .notes = {"Kept pairs are normalised: Unicode NFC, single spaces, no control characters.",
                 "The two languages are recognised by letter trigrams that are counted in the files themselves, so no "
                 "list of languages is needed. Most pairs must be right.",
                 "Run the command again on its output with the same --exclude: it then drops no test sentence."}},
      [](Flags& flags, DataCleanOptions& options) {
        list_flags(flags, options.in);
        list_flags(flags, options.out);
        flags.add("--exclude", options.exclude, "Test files: a pair with one of their lines on either side is dropped.")
            .takes("FILE");
        flags.add("--min-words", options.rules.min_words, "Minimum words of each side.").between(0, 1e6);
        flags.add("--max-words", options.rules.max_words, "Maximum words of each side.").between(1, 1e6);
        flags
            .add("--max-ratio", options.rules.max_ratio,
                 "Maximum ratio of lengths, in words and characters; 0 allows any.")
            .between(0, 1000);
        flags.add("--keep-identical", options.rules.identical, "Keep pairs whose two sides are equal.");
        flags
            .add(
                "--language", options.rules.language,
                "Drop a side that looks like the other language by this log-likelihood ratio per trigram; 0 keeps all.")
            .between(0, 100);
      },
      run_data_clean);
}

}  // namespace attend::cli
