#include "attend/cli/commands/data.h"

#include "attend/cli/commands/data_report.h"
#include "attend/cli/support/command.h"

namespace attend::cli {

void add_data_command(Flags& program, const Streams& streams) {
  Flags data = program.command_group({.name = "data", .help = "Look at and prepare data sets.", .examples = R"(
  attend data report reviews.csv # counts, lengths, duplicates, suspicious labels)"});
  add_data_report_command(data, streams);
}

}  // namespace attend::cli
