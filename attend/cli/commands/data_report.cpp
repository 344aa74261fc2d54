#include "attend/cli/commands/data_report.h"

#include <fmt/core.h>

#include <filesystem>
#include <ostream>

#include "attend/cli/support/command.h"
#include "attend/cli/support/command_files.h"
#include "attend/data/facts/report.h"

namespace attend::cli {

void run_data_report(const DataReportOptions& options, const Streams& streams) {
  CommandFiles files{.files = options.paths, .reads_lines = false};
  if (!options.html.empty()) files.outputs.push_back({"--html", options.html});
  OutputFiles outputs(command_files(streams, std::move(files)));
  const data::DataFacts facts = data::gather_facts(data::recognise({options.paths.begin(), options.paths.end()}),
                                                   {.all_images = true, .test = options.test});
  streams.out << data::report_text(facts);
  if (!options.html.empty()) outputs.write(options.html, data::report_page(facts));
  outputs.commit();
}

void add_data_report_command(Flags& data, const Streams& streams) {
  add_command<DataReportOptions>(
      data, streams,
      {.name = "report",
       .help = "Describe a data set: counts, lengths, duplicates, broken files, suspicious labels.",
       .examples = R"(
  attend data report reviews.csv # a table: CSV, TSV or JSON Lines
  attend data report train.en train.fr # two text files, line by line
  attend data report photos --html photos.html # a folder of images; the report as a web page
  attend data report photos/train --test photos/test # images in both, labels of one alone
  attend data report instances_train.json # COCO's boxes or captions)",
       .notes =
           {"The kind of data is recognised from the files. Columns of a table are found by their names (text, label, "
            "source, target, ..) or by their content."}},
      [](Flags& flags, DataReportOptions& options) {
        flags.add("path", options.paths, "File or folder, or two text files that belong together line by line.")
            .required();
        flags
            .add("--test", options.test,
                 "Labelled images to compare with: images in both sets, labels of one alone. Without it, the test part "
                 "of the same folder.")
            .group("Data")
            .takes("PATH");
        flags.add("--html", options.html, "File for the report as a self-contained web page.").group("Output");
      },
      run_data_report);
}

}  // namespace attend::cli
