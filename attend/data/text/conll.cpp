// The CoNLL shared tasks' files (Tjong Kim Sang & De Meulder 2003): a word per line with its columns, and an empty line
// behind every sentence.
#include <algorithm>
#include <charconv>

#include "attend/base/error.h"
#include "attend/base/unicode/unicode.h"
#include "attend/data/text/labelled_text.h"

namespace attend::data {

namespace {

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  const std::string_view ends = line.find('\t') != line.npos ? "\t" : " ";
  while (!line.empty()) {
    const std::size_t end = std::min(line.find_first_of(ends), line.size());
    if (end > 0) cells.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return cells;
}

// Columns are counted from 1; 0 stands for none given.
std::size_t number_of(const std::string& column, const std::string& path) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(column.data(), column.data() + column.size(), number);
  check(column.empty() || (error == std::errc() && end == column.data() + column.size() && number >= 1),
        "{}: columns of CoNLL files are numbers from 1, not '{}'", path, column);
  return number;
}

}  // namespace

void parse_conll(std::string_view text, const LabelledOptions& options, LabelledFile& file) {
  const std::size_t word = std::max<std::size_t>(number_of(options.text_column, file.path), 1);
  const std::size_t tag = number_of(options.label_column, file.path);  // 0: the last
  LabelledText sentence;
  const char* bad = nullptr;  // what is wrong with the sentence
  const auto finish = [&] {
    if (bad) {
      file.bad.add(sentence.line, bad);
    } else if (!sentence.words.empty()) {
      to_iob2(sentence.tags);
      file.texts.push_back(std::move(sentence));
    }
    sentence = {}, bad = nullptr;
  };
  text = without_mark(text);
  for (std::int64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::vector<std::string_view> cells = cells_of(line);
    if (cells.empty() || cells[0] == "-DOCSTART-") {
      finish();
      continue;
    }
    if (sentence.line == 0) sentence.line = number;
    if (find_invalid_utf8(line))
      bad = "not UTF-8";
    else if (cells.size() < 2 || cells.size() < word || cells.size() < tag)
      bad = "without a column that is needed";
    else
      sentence.words.emplace_back(cells[word - 1]), sentence.tags.emplace_back(cells[tag ? tag - 1 : cells.size() - 1]);
  }
  finish();
}

}  // namespace attend::data
