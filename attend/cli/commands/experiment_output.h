// What every experiment writes: a figure as SVG or PNG, and its results as a table, CSV or JSON.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "attend/base/output_files.h"
#include "attend/cli/support/figure_flags.h"
#include "attend/cli/support/streams.h"

namespace attend::cli {

class Flags;

struct ExperimentOutput {
  std::string svg, png, csv;
  bool json = false;
  FigureFlags figure = {};
};
void list_output_flags(Flags& flags, ExperimentOutput& output);
void list_csv_flag(Flags& flags, ExperimentOutput& output);

OutputFiles opened(const ExperimentOutput& output, const Streams& streams);
void write_figure_files(const ExperimentOutput& output, OutputFiles& files, const view::Figure& figure);

// Rows of numbers and words; numbers are written as they are given.
struct ResultTable {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};
std::string table_text(const ResultTable& table);  // aligned columns
std::string table_csv(const ResultTable& table);
std::string table_json(const ResultTable& table);  // a list of objects, by column

// Writes the figure and the CSV file, and prints the table under its title, or JSON alone.
void write_results(const ExperimentOutput& output, OutputFiles& files, const Streams& streams,
                   const view::Figure& figure, const std::string& title, const ResultTable& table);

// Flags of experiments that train: where, and from which random numbers.
struct TrainingFlags {
  std::string device = "cpu";
  int threads = 0;
  std::uint64_t seed = 1;
};
void list_training_flags(Flags& flags, TrainingFlags& training);
// A function that reports steps of `total` as progress on the error stream.
std::function<void(std::int64_t)> step_report(const Streams& streams, std::int64_t total);

}  // namespace attend::cli
