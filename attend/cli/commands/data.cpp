#include "attend/cli/commands/data.h"

#include "attend/cli/commands/data_corpus.h"
#include "attend/cli/commands/data_report.h"
#include "attend/cli/support/command.h"

namespace attend::cli {

void add_data_command(Flags& program, const Streams& streams) {
  Flags data = program.command_group({.name = "data", .help = "Look at and prepare data sets.", .examples = R"(
  attend data report reviews.csv # counts, lengths, duplicates, suspicious labels
  attend data clean --source raw.en --target raw.fr --out-source clean.en --out-target clean.fr # parallel text
  attend data mix europarl tatoeba --mix tatoeba:3 --out-source train.en --out-target train.fr)"});
  add_data_report_command(data, streams);
  add_data_clean_command(data, streams);
  add_data_dedup_command(data, streams);
  add_data_split_command(data, streams);
  add_data_mix_command(data, streams);
}

}  // namespace attend::cli
