// attend data report: what is in a data set, as text and as a page.
#pragma once

#include <string>
#include <vector>

#include "attend/cli/support/streams.h"

namespace attend::cli {

class Flags;

struct DataReportOptions {
  std::vector<std::string> paths;
  std::string html, test;
};

void run_data_report(const DataReportOptions& options, const Streams& streams);
void add_data_report_command(Flags& data, const Streams& streams);

}  // namespace attend::cli
