#include "attend/data/facts/text_examples.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/lines.h"
#include "attend/base/unicode/unicode.h"
#include "attend/data/text/labelled_text.h"
#include "attend/text/text_reader.h"

namespace attend::data {

namespace {

std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::vector<std::string> lines;
  text::TextReader reader(path);
  for (std::string_view block = reader.next_block(); !block.empty(); block = reader.next_block())
    while (!block.empty()) {
      const std::size_t end = std::min(block.find('\n'), block.size());
      std::string_view line = block.substr(0, end);
      if (line.ends_with('\r')) line.remove_suffix(1);
      lines.emplace_back(line);
      block.remove_prefix(std::min(end + 1, block.size()));
    }
  return lines;
}

TextExamples rows_of(const Recognised& data) {
  Table table =
      parse_table(read_text(data.paths[0]), data.paths[0].string(), {.format = data.format, .header = data.header});
  TextExamples read;
  for (const Row& row : table.rows) {
    TextExample one{.line = row.line,
                    .first = cell_text(row, data.first),
                    .second = data.second.empty() ? "" : cell_text(row, data.second),
                    .label = data.label.empty() ? "" : cell_text(row, data.label)};
    if (one.first.empty())
      table.bad.add(row.line, "without text");
    else if (data.kind == DataKind::text_pairs && one.second.empty())
      table.bad.add(row.line, "without second text");
    else if (data.kind == DataKind::labelled_text && one.label.empty())
      table.bad.add(row.line, "without label");
    else
      read.examples.push_back(std::move(one));
  }
  read.left_out = table.bad.text();
  return read;
}

}  // namespace

TextExamples read_text_examples(const Recognised& data) {
  if (data.kind == DataKind::text_pairs || data.kind == DataKind::labelled_text) return rows_of(data);
  check(data.kind == DataKind::text || data.kind == DataKind::parallel_text, "{}: these are no lines of text",
        data.paths[0].string());
  TextExamples read;
  std::vector<std::string> first = lines_of(data.paths[0]), second;
  read.lines[0] = static_cast<std::int64_t>(first.size());
  if (data.kind == DataKind::parallel_text) {
    second = lines_of(data.paths[1]);
    read.lines[1] = static_cast<std::int64_t>(second.size());
    check(first.size() == second.size(),
          "{} has {} lines, but {} has {}: line by line they belong together, so that there must be as many",
          data.paths[0].string(), first.size(), data.paths[1].string(), second.size());
  }
  for (std::size_t i = 0; i < first.size(); ++i)
    read.examples.push_back({.line = static_cast<std::int64_t>(i) + 1,
                             .first = std::move(first[i]),
                             .second = second.empty() ? "" : std::move(second[i])});
  return read;
}

}  // namespace attend::data
