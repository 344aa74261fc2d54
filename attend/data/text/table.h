// Rows from files that people label data in: CSV (RFC 4180), TSV (as GLUE has it: tabs and line feeds end cells, quotes
// are text) and JSON Lines. A row is an object: column -> value. Rows that cannot be used are left out and counted.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/json.h"

namespace attend::data {

struct Row {
  std::int64_t line = 0;  // its first, counted from 1
  Json cells;             // an object; of CSV and TSV all strings
};

// Rows left out, by reason.
class BadRows {
 public:
  void add(std::int64_t line, const std::string& reason);
  std::int64_t count() const { return count_; }
  // "3 rows left out: 2 are not UTF-8 (first: line 17), 1 has no label (line 40)"; empty when there are none.
  std::string text() const;

 private:
  struct Reason {
    std::int64_t count = 0, first = 0;
  };
  std::map<std::string, Reason> reasons_;
  std::int64_t count_ = 0;
};

enum class TableFormat : std::uint8_t { csv, tsv, jsonl };

struct Table {
  std::string path;
  std::vector<std::string> columns;  // of CSV and TSV, in order; without a header "1", "2", ...
  std::vector<Row> rows;
  BadRows bad;
};

struct TableOptions {
  TableFormat format = TableFormat::csv;
  bool header = true;  // the first row names the columns
};

// text is the whole file at path, which messages name. Throws Error with path:line for an empty file, a header that
// names a column twice, and a quote that is never closed.
Table parse_table(std::string_view text, const std::string& path, const TableOptions& options);

// A cell as text: strings as they are, numbers as they are written; "" where there is none.
std::string cell_text(const Row& row, const std::string& column);

}  // namespace attend::data
