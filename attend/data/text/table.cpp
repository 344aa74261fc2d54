#include "attend/data/text/table.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/base/unicode/unicode.h"

namespace attend::data {

namespace {

constexpr const char* kNotUtf8 = "not UTF-8";
constexpr std::size_t kMostColumns = 1 << 16;

// One record at a time; line() is where it began.
class Records {
 public:
  Records(std::string_view text, const std::string& path) : rest_(text), path_(path) { rest_ = without_mark(rest_); }
  virtual ~Records() = default;
  bool done() const { return rest_.empty(); }
  std::int64_t line() const { return line_; }
  virtual std::vector<std::string> next() = 0;

 protected:
  std::string_view take_line() {
    line_ = next_line_++;
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }

  std::string_view rest_;
  const std::string& path_;
  std::int64_t line_ = 0, next_line_ = 1;
};

class TsvRecords : public Records {
 public:
  using Records::Records;
  std::vector<std::string> next() override {
    std::string_view line = take_line();
    std::vector<std::string> cells;
    for (std::size_t tab; (tab = line.find('\t')) != line.npos; line.remove_prefix(tab + 1))
      cells.emplace_back(line.substr(0, tab));
    cells.emplace_back(line);
    return cells;
  }
};

class CsvRecords : public Records {
 public:
  using Records::Records;
  std::vector<std::string> next() override {
    line_ = next_line_;
    std::vector<std::string> cells;
    while (true) {
      cells.push_back(rest_.starts_with('"') ? quoted() : plain());
      if (rest_.starts_with(',')) {
        rest_.remove_prefix(1);
        continue;
      }
      if (rest_.starts_with('\r')) rest_.remove_prefix(1);
      if (rest_.starts_with('\n')) rest_.remove_prefix(1);
      ++next_line_;
      return cells;
    }
  }

 private:
  std::string plain() {
    const std::size_t end = std::min(rest_.find_first_of(",\n"), rest_.size());
    std::string_view cell = rest_.substr(0, end);
    rest_.remove_prefix(end);
    if (!rest_.starts_with(',') && cell.ends_with('\r')) cell.remove_suffix(1);
    return std::string(cell);
  }

  // Two quotes in a row stand for one; line feeds are text.
  std::string quoted() {
    const std::int64_t opened = next_line_;
    std::string cell;
    rest_.remove_prefix(1);
    while (true) {
      const std::size_t end = rest_.find('"');
      check(end != rest_.npos, "{}:{}: a quote is opened here and never closed", path_, opened);
      next_line_ += std::ranges::count(rest_.substr(0, end), '\n');
      cell += rest_.substr(0, end);
      rest_.remove_prefix(end + 1);
      if (!rest_.starts_with('"')) break;
      cell += '"';
      rest_.remove_prefix(1);
    }
    check(rest_.empty() || rest_[0] == ',' || rest_[0] == '\n' || rest_.starts_with("\r\n"),
          "{}:{}: behind the closing quote of a cell there must be a comma or the end of the line, not {}", path_,
          next_line_, shown(rest_.substr(0, 8)));
    return cell;
  }
};

void read_jsonl(std::string_view text, Table& table) {
  text = without_mark(text);
  for (std::int64_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view one = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (one.find_first_not_of(" \t\r") == one.npos) continue;
    try {
      Row row{line, parse_json(one, table.path)};
      if (row.cells.is_object())
        table.rows.push_back(std::move(row));
      else
        table.bad.add(line, "not a JSON object");
    } catch (const Error&) {
      table.bad.add(line, find_invalid_utf8(one) ? kNotUtf8 : "not a JSON object");
    }
  }
}

void name_columns(std::vector<std::string> names, std::int64_t line, Table& table) {
  check(names.size() <= kMostColumns, "{}:{}: a table of {} columns", table.path, line, names.size());
  std::set<std::string> seen;
  for (const std::string& name : names) {
    check(!find_invalid_utf8(name), "{}:{}: the header is not UTF-8", table.path, line);
    check(seen.insert(name).second, "{}:{}: the header names the column {} twice", table.path, line, shown(name));
  }
  table.columns = std::move(names);
}

void read_records(Records& records, const TableOptions& options, Table& table) {
  if (options.header && !records.done()) {
    std::vector<std::string> names = records.next();
    name_columns(std::move(names), records.line(), table);
  }
  while (!records.done()) {
    std::vector<std::string> cells = records.next();
    const std::int64_t line = records.line();
    if (cells.size() == 1 && cells[0].empty()) continue;  // an empty line
    if (table.columns.empty()) {
      std::vector<std::string> numbers;
      for (std::size_t i = 1; i <= cells.size(); ++i) numbers.push_back(std::to_string(i));
      name_columns(std::move(numbers), line, table);
    }
    if (cells.size() != table.columns.size()) {
      table.bad.add(line, fmt::format("not {} cells as the {}", table.columns.size(),
                                      options.header ? "header has" : "first row has"));
      continue;
    }
    if (std::ranges::any_of(cells, [](const std::string& cell) { return find_invalid_utf8(cell).has_value(); })) {
      table.bad.add(line, kNotUtf8);
      continue;
    }
    Row row{line, Json::object()};
    for (std::size_t i = 0; i < cells.size(); ++i) row.cells[table.columns[i]] = std::move(cells[i]);
    table.rows.push_back(std::move(row));
  }
}

}  // namespace

void BadRows::add(std::int64_t line, const std::string& reason) {
  Reason& known = reasons_[reason];
  if (known.count++ == 0) known.first = line;
  ++count_;
}

std::string BadRows::text() const {
  if (count_ == 0) return "";
  std::string text = fmt::format("{} row{} left out: ", count_, count_ == 1 ? "" : "s");
  const char* between = "";
  for (const auto& [reason, rows] : reasons_) {
    text +=
        fmt::format("{}{} {} ({}line {})", between, rows.count, reason, rows.count == 1 ? "" : "first: ", rows.first);
    between = ", ";
  }
  return text;
}

std::string cell_text(const Row& row, const std::string& column) {
  const auto found = row.cells.find(column);
  if (found == row.cells.end()) return "";
  if (found->is_string()) return found->get<std::string>();
  return found->is_number() || found->is_boolean() ? found->dump() : "";
}

Table parse_table(std::string_view text, const std::string& path, const TableOptions& options) {
  Table table;
  table.path = path;
  check(!text.empty(), "{}: the file is empty", path);
  if (options.format == TableFormat::jsonl) {
    read_jsonl(text, table);
  } else if (options.format == TableFormat::tsv) {
    TsvRecords records(text, path);
    read_records(records, options, table);
  } else {
    CsvRecords records(text, path);
    read_records(records, options, table);
  }
  return table;
}

}  // namespace attend::data
