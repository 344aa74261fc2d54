#include "attend/cli/commands/experiment_output.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <ostream>

#include "attend/base/json.h"
#include "attend/base/progress.h"
#include "attend/base/unicode/unicode.h"
#include "attend/cli/support/command_files.h"
#include "attend/cli/support/flags.h"

namespace attend::cli {

void list_output_flags(Flags& flags, ExperimentOutput& output) {
  flags.add("--svg", output.svg, "Write the figure as SVG.");
  flags.add("--png", output.png, "Write the figure as PNG.");
  flags.add("--json", output.json, "Print one JSON object.");
  add_figure_flags(flags, output.figure);
}

void list_csv_flag(Flags& flags, ExperimentOutput& output) {
  flags.add("--csv", output.csv, "Write the table as CSV.").takes("FILE");
}

OutputFiles opened(const ExperimentOutput& output, const Streams& streams) {
  return OutputFiles(command_files(
      streams,
      {.outputs = {{"--svg", output.svg}, {"--png", output.png}, {"--csv", output.csv}}, .reads_lines = false}));
}

void write_figure_files(const ExperimentOutput& output, OutputFiles& files, const view::Figure& figure) {
  if (!output.svg.empty()) files.write(output.svg, svg_of(figure, output.figure));
  if (!output.png.empty()) files.write(output.png, png_of(figure, output.figure));
  files.commit();
}

namespace {

// The number that a cell holds; false for words.
bool number_in(const std::string& cell, double& number) {
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  return error == std::errc() && end == cell.data() + cell.size();
}

}  // namespace

std::string table_text(const ResultTable& table) {
  std::vector<std::vector<std::string>> rows = table.rows;
  rows.insert(rows.begin(), table.columns);
  std::vector<std::size_t> widths(table.columns.size());
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], count_characters(row[i]));
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      double number = 0;
      const bool right = number_in(table.rows.empty() ? "" : table.rows[0][i], number);
      const std::string space(widths[i] - count_characters(row[i]), ' ');
      text += (i == 0 ? "" : "  ") + (right ? space + row[i] : i + 1 < row.size() ? row[i] + space : row[i]);
    }
    text += '\n';
  }
  return text;
}

std::string table_csv(const ResultTable& table) {
  std::string text;
  const auto line = [&](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) text += (i == 0 ? "" : ",") + cells[i];
    text += '\n';
  };
  line(table.columns);
  for (const auto& row : table.rows) line(row);
  return text;
}

std::string table_json(const ResultTable& table) {
  Json list = Json::array();
  for (const auto& row : table.rows) {
    Json one = Json::object();
    for (std::size_t i = 0; i < row.size(); ++i) {
      double number = 0;
      one[table.columns[i]] = number_in(row[i], number) ? Json(number) : Json(row[i]);
    }
    list.push_back(one);
  }
  return list.dump();
}

void write_results(const ExperimentOutput& output, OutputFiles& files, const Streams& streams,
                   const view::Figure& figure, const std::string& title, const ResultTable& table) {
  if (!output.csv.empty()) files.write(output.csv, table_csv(table));
  write_figure_files(output, files, figure);
  if (output.json)
    streams.out << table_json(table) << '\n';
  else
    streams.out << title << "\n\n" << table_text(table);
}

void list_training_flags(Flags& flags, TrainingFlags& training) {
  flags.add("--seed", training.seed, "Random seed.");
  flags.add("--device", training.device, "Device: cpu, cuda or cuda:N.");
  flags.add("--threads", training.threads, "CPU threads; 0 means one per core.").between(0, 1024);
}

std::function<void(std::int64_t)> step_report(const Streams& streams, std::int64_t total) {
  const auto progress = std::make_shared<Progress>(
      streams.err, Progress::Options{.label = "training", .total = total, .terminal = streams.err_terminal});
  return [progress](std::int64_t done) { progress->update(done); };
}

}  // namespace attend::cli
