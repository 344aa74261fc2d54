#include "attend/data/text/labelled_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <optional>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/base/lines.h"
#include "attend/base/unicode/unicode.h"

namespace attend::data {

namespace {

constexpr std::initializer_list<const char*> kTextNames = {"text",      "sentence", "content",  "sentence1",
                                                           "question1", "premise",  "question", "#1 String"};
constexpr std::initializer_list<const char*> kPairNames = {"pair",       "text_pair", "sentence2",
                                                           "hypothesis", "question2", "#2 String"};
constexpr std::initializer_list<const char*> kLabelNames = {"label", "labels", "class",   "category",
                                                            "score", "target", "Quality", "is_duplicate"};
constexpr std::initializer_list<const char*> kWordNames = {"tokens", "words", "text"};
constexpr std::initializer_list<const char*> kTagNames = {"tags", "ner_tags", "labels", "label"};
constexpr std::initializer_list<const char*> kAnswerNames = {"answers", "answer"};

std::string joined(const auto& names) {
  std::string text;
  for (const auto& name : names) text += fmt::format("{}'{}'", text.empty() ? "" : ", ", name);
  return text;
}

// Columns of the file, by the name that was asked for or the first of the usual ones.
class Columns {
 public:
  explicit Columns(const Table& table) : table_(table), names_(table.columns) {
    if (names_.empty() && !table.rows.empty())
      for (const auto& item : table.rows.front().cells.items()) names_.push_back(item.key());
  }

  std::string find(const char* flag, const std::string& asked, std::initializer_list<const char*> usual) const {
    const std::optional<std::string> found = find_if(asked, usual);
    if (found) return *found;
    if (!asked.empty()) fail("{}: there is no column '{}' among {}", table_.path, asked, joined(names_));
    fail("{}: which column is the {}? There are {}, and none is called {}; --{}-column names it", table_.path, flag,
         joined(names_), joined(usual), flag);
  }
  std::optional<std::string> find_if(const std::string& asked, std::initializer_list<const char*> usual) const {
    const auto known = [&](const std::string& name) { return std::ranges::find(names_, name) != names_.end(); };
    if (!asked.empty()) {
      if (known(asked)) return asked;
      return std::nullopt;
    }
    for (const char* name : usual)
      if (known(name)) return name;
    return std::nullopt;
  }

 private:
  const Table& table_;
  std::vector<std::string> names_;
};

// A cell as text: strings as they are, numbers as they are written.
std::optional<std::string> text_in(const Json& cells, const std::string& column) {
  const auto found = cells.find(column);
  if (found == cells.end()) return std::nullopt;
  if (found->is_string()) return found->get<std::string>();
  if (found->is_number() || found->is_boolean()) return found->dump();
  return std::nullopt;
}

std::optional<std::vector<std::string>> list_in(const Json& cells, const std::string& column) {
  const auto found = cells.find(column);
  if (found == cells.end() || !found->is_array()) return std::nullopt;
  std::vector<std::string> list;
  for (const Json& item : *found) {
    if (!item.is_string() && !item.is_number_integer()) return std::nullopt;
    list.push_back(item.is_string() ? item.get<std::string>() : item.dump());
  }
  return list;
}

void read_texts(const Table& table, const LabelledOptions& options, LabelledFile& file) {
  const Columns columns(table);
  const std::string text = columns.find("text", options.text_column, kTextNames);
  const std::string label = columns.find("label", options.label_column, kLabelNames);
  std::optional<std::string> pair = columns.find_if(options.pair_column, kPairNames);
  if (!options.pair_column.empty()) pair = columns.find("pair", options.pair_column, {});
  for (const Row& row : table.rows) {
    const auto one = text_in(row.cells, text), said = text_in(row.cells, label);
    const auto two = pair ? text_in(row.cells, *pair) : std::nullopt;
    if (!one || one->empty())
      file.bad.add(row.line, "without text");
    else if (pair && !two)
      file.bad.add(row.line, "without second text");
    else if (!said || said->empty())
      file.bad.add(row.line, "without label");
    else
      file.texts.push_back(
          {.line = row.line, .text = *one, .pair = two.value_or(""), .has_pair = pair.has_value(), .label = *said});
  }
}

void read_words(const Table& table, const LabelledOptions& options, LabelledFile& file) {
  const Columns columns(table);
  const std::string words = columns.find("text", options.text_column, kWordNames);
  const std::string tags = columns.find("label", options.label_column, kTagNames);
  for (const Row& row : table.rows) {
    auto said = list_in(row.cells, words), tagged = list_in(row.cells, tags);
    if (!said || !tagged || said->empty()) {
      file.bad.add(row.line, "without lists of words and tags");
      continue;
    }
    if (said->size() != tagged->size()) {
      file.bad.add(row.line, "with more words than tags or more tags than words");
      continue;
    }
    LabelledText text;
    text.line = row.line, text.words = std::move(*said), text.tags = std::move(*tagged);
    to_iob2(text.tags);
    file.texts.push_back(std::move(text));
  }
}

// {"text": [..], "answer_start": [..]}, a list of {"text", "answer_start"}, or a text with the column answer_start.
std::vector<LabelledText::Answer> answers_in(const Json& cells, const std::string& column) {
  std::vector<LabelledText::Answer> answers;
  const auto add = [&](const Json& text, const Json& begin) {
    if (!text.is_string()) return;
    std::int64_t at = begin.is_number_integer() ? begin.get<std::int64_t>() : -1;
    if (begin.is_string()) {
      const auto& digits = begin.text();
      const bool number =
          !digits.empty() && digits.size() < 10 && digits.find_first_not_of("0123456789") == digits.npos;
      at = number ? std::stoll(digits) : -1;
    }
    answers.push_back({text.get<std::string>(), at});
  };
  const Json none, &given = cells.at(column);
  const auto member = [&](const Json& object, const char* key) -> const Json& {
    const auto found = object.find(key);
    return found == object.end() ? none : *found;
  };
  if (given.is_string()) {
    add(given, member(cells, "answer_start"));
  } else if (given.is_array()) {
    for (const Json& one : given)
      if (one.is_object()) add(member(one, "text"), member(one, "answer_start"));
  } else if (given.is_object()) {
    const Json &texts = member(given, "text"), &begins = member(given, "answer_start");
    for (std::size_t i = 0; texts.is_array() && i < texts.size(); ++i)
      add(texts[i], begins.is_array() && i < begins.size() ? begins[i] : none);
  }
  return answers;
}

void read_answers(const Table& table, const LabelledOptions& options, LabelledFile& file) {
  const Columns columns(table);
  const std::string question = columns.find("text", options.text_column, {"question"});
  const std::string context = columns.find("pair", options.pair_column, {"context"});
  const std::string answer = columns.find("label", options.label_column, kAnswerNames);
  for (const Row& row : table.rows) {
    const auto asked = text_in(row.cells, question), where = text_in(row.cells, context);
    if (!asked || asked->empty() || !where || where->empty()) {
      file.bad.add(row.line, "without question or context");
      continue;
    }
    LabelledText text{.line = row.line, .text = *asked, .pair = *where, .has_pair = true};
    if (row.cells.contains(answer)) text.answers = answers_in(row.cells, answer);
    for (LabelledText::Answer& one : text.answers)
      if (one.begin < 0) one.begin = find_answer(text.pair, one.text);
    std::erase_if(text.answers, [&](const auto& one) { return !answer_fits(text.pair, one); });
    if (text.answers.empty())
      file.bad.add(row.line, "without an answer that is in the context");
    else
      file.texts.push_back(std::move(text));
  }
}

std::string format_of(const std::string& path, const LabelledOptions& options) {
  if (options.format != "auto") return options.format;
  const std::string end = std::filesystem::path(path).extension().string();
  if (end == ".csv" || end == ".tsv" || end == ".jsonl") return end.substr(1);
  if (end == ".ndjson") return "jsonl";
  if (end == ".json" && options.labelling == Labelling::answers) return "squad";
  if (options.labelling == Labelling::words) return "conll";
  check(end == ".txt" || end == ".tab", "{}: is it csv, tsv or jsonl? --format says so where the name does not", path);
  return "tsv";
}

}  // namespace

std::int64_t find_answer(std::string_view context, std::string_view answer) {
  const std::size_t at = answer.empty() ? context.npos : context.find(answer);
  return at == context.npos ? -1 : static_cast<std::int64_t>(count_characters(context.substr(0, at)));
}

bool answer_fits(std::string_view context, const LabelledText::Answer& answer) {
  if (answer.begin < 0 || answer.text.empty()) return false;
  std::size_t at = 0;
  for (std::int64_t i = 0; i < answer.begin && at < context.size(); ++i) at += utf8_length(context[at]);
  return at < context.size() && context.substr(at).starts_with(answer.text);
}

void to_iob2(std::vector<std::string>& tags) {
  std::string before;  // the kind of the name that the word before belongs to
  for (std::string& tag : tags) {
    const bool inside = tag.starts_with("I-"), begins = tag.starts_with("B-");
    const std::string kind = inside || begins ? tag.substr(2) : "";
    if (inside && kind != before) tag[0] = 'B';
    before = kind;
  }
}

LabelledFile parse_labelled(std::string_view text, const std::string& path, const LabelledOptions& options) {
  LabelledFile file;
  file.path = path;
  const std::string format = format_of(path, options);
  check(!text.empty(), "{}: the file is empty", path);
  if (format == "conll") {
    check(options.labelling == Labelling::words, "{}: CoNLL files hold tags of words (--task tag)", path);
    parse_conll(text, options, file);
  } else if (format == "squad") {
    check(options.labelling == Labelling::answers, "{}: SQuAD's files hold answers (--task answer)", path);
    parse_squad(text, file);
  } else {
    const bool known = format == "csv" || format == "tsv" || format == "jsonl";
    check(known, "{}: unknown format '{}'; there are csv, tsv, jsonl, conll and squad", path, format);
    const Table table = parse_table(text, path,
                                    {.format = format == "csv"   ? TableFormat::csv
                                               : format == "tsv" ? TableFormat::tsv
                                                                 : TableFormat::jsonl,
                                     .header = options.header});
    file.bad = table.bad;
    check(!table.rows.empty(), "{}: has no rows that can be used{}{}", path, table.bad.count() ? "; " : "",
          table.bad.text());
    if (options.labelling == Labelling::text)
      read_texts(table, options, file);
    else if (options.labelling == Labelling::words)
      read_words(table, options, file);
    else
      read_answers(table, options, file);
  }
  check(!file.texts.empty(), "{}: has no rows that can be used{}{}", path, file.bad.count() ? "; " : "",
        file.bad.text());
  return file;
}

LabelledFile read_labelled(const std::string& path, const LabelledOptions& options) {
  return parse_labelled(read_text(std::filesystem::path(path)), path, options);
}

}  // namespace attend::data
