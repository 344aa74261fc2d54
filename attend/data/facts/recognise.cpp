#include "attend/data/facts/recognise.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/joined.h"
#include "attend/base/json.h"
#include "attend/base/lines.h"
#include "attend/base/paths.h"
#include "attend/base/unicode/unicode.h"
#include "attend/data/folder_contents.h"
#include "attend/data/images/image_records.h"
#include "attend/data/images/labelled_images.h"

namespace attend::data {

namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

std::string lowered(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

std::string ending(const fs::path& path) { return lowered(path.extension().string()); }

std::string format_name(TableFormat format) {
  return format == TableFormat::csv ? "CSV" : format == TableFormat::tsv ? "TSV" : "JSON Lines";
}

// What a column is like: how long its cells are, and how many of them differ.
struct ColumnLook {
  std::string name;
  double length = 0;  // mean, in bytes
  std::size_t distinct = 0;
  bool images = false;  // names of image files
};

ColumnLook look_at(const Table& table, const std::string& column) {
  constexpr std::size_t kRows = 5000;
  ColumnLook look{.name = column};
  std::set<std::string> seen;
  const std::size_t rows = std::min(table.rows.size(), kRows);
  std::size_t bytes = 0, images = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    std::string cell = cell_text(table.rows[i], column);
    bytes += cell.size(), images += is_image_name(cell) ? 1 : 0;
    seen.insert(std::move(cell));
  }
  look.length = rows ? static_cast<double>(bytes) / static_cast<double>(rows) : 0;
  look.distinct = seen.size(), look.images = rows > 0 && images * 2 > rows;
  return look;
}

std::string usual(const Names& columns, const std::set<std::string>& names) {
  for (const std::string& column : columns)
    if (names.contains(lowered(column))) return column;
  return "";
}

const std::set<std::string> kTexts = {"text",    "sentence", "content",   "sentence1", "question1",
                                      "premise", "question", "#1 string", "review",    "comment"};
const std::set<std::string> kPairs = {"pair", "text_pair", "sentence2", "hypothesis", "question2", "#2 string"};
const std::set<std::string> kLabels = {"label",  "labels",  "class",        "category", "kind",
                                       "target", "quality", "is_duplicate", "sentiment"};
const std::set<std::string> kSources = {"source", "src", "input", "from"}, kTargets = {"target", "tgt", "output", "to"};
const std::set<std::string> kLanguages = {"en", "de", "fr",      "es",     "it",     "pt",      "nl",     "pl", "ru",
                                          "uk", "cs", "sv",      "da",     "fi",     "no",      "tr",     "ar", "zh",
                                          "ja", "ko", "english", "german", "french", "spanish", "italian"};

// Two columns that translate each other, by their names.
std::pair<std::string, std::string> named_sides(const Names& columns) {
  const std::string source = usual(columns, kSources), target = usual(columns, kTargets);
  if (!source.empty() && !target.empty()) return {source, target};
  Names languages;
  for (const std::string& column : columns)
    if (kLanguages.contains(lowered(column))) languages.push_back(column);
  if (languages.size() == 2) return {languages[0], languages[1]};
  return {};
}

Recognised as_pairs(Recognised found, const std::string& first, const std::string& second) {
  found.kind = DataKind::text_pairs, found.first = first, found.second = second;
  found.what = fmt::format("pairs of texts, from '{}' to '{}'", first, second);
  return found;
}

Names columns_of(const Table& table) {
  Names columns = table.columns;
  if (columns.empty() && !table.rows.empty())
    for (const auto& item : table.rows[0].cells.items()) columns.push_back(item.key());
  return columns;
}

// A first row of names, not of data: none of its cells comes again in its column, and none is long.
bool has_header(const Table& table) {
  if (table.rows.size() < 2) return false;
  constexpr std::size_t kLongestName = 40;
  std::size_t known = 0, languages = 0;
  for (const std::string& column : table.columns) {
    const std::string name = lowered(cell_text(table.rows[0], column));
    if (name.empty() || name.size() > kLongestName || is_image_name(name)) return false;
    for (const auto* names : {&kTexts, &kPairs, &kLabels, &kSources, &kTargets})
      if (names->contains(name)) ++known;
    if (kLanguages.contains(name)) ++languages;
    if (name == "path" || name == "file" || name == "filename" || name == "file_name" || name == "image") ++known;
  }
  if (known > 0 || languages > 1) return true;  // one alone may be a label: "no"
  for (const std::string& column : table.columns) {
    const std::string name = cell_text(table.rows[0], column);
    for (std::size_t i = 1; i < table.rows.size(); ++i)
      if (cell_text(table.rows[i], column) == name) return false;
  }
  // Texts have several words, names of columns one.
  return std::ranges::all_of(table.columns, [&](const std::string& column) {
    return cell_text(table.rows[0], column).find(' ') == std::string::npos;
  });
}

Recognised recognise_table(const fs::path& path, TableFormat format) {
  const std::string text = read_text(path);
  bool header = true;
  if (format != TableFormat::jsonl)
    header = has_header(parse_table(text, path.string(), {.format = format, .header = false}));
  const Table table = parse_table(text, path.string(), {.format = format, .header = header});
  check(!table.rows.empty(), "{}: has no rows that can be used{}{}", path.string(), table.bad.count() ? "; " : "",
        table.bad.text());
  Recognised found = recognise_columns(table);
  found.paths = {path}, found.format = format, found.header = header;
  found.what = fmt::format("{}{}, {}", format_name(format), header ? "" : " without a header", found.what);
  return found;
}

Recognised recognise_json(const fs::path& path) {
  const Json json = read_json(path);
  Recognised found{.kind = DataKind::objects, .paths = {path}};
  const auto has = [&](const char* key) { return json.is_object() && json.contains(key) && json[key].is_array(); };
  if (has("images") && has("annotations")) {
    const Json& list = json["annotations"];
    const bool captions = !list.empty() && list[0].is_object() && list[0].contains("caption");
    found.kind = captions ? DataKind::captions : DataKind::objects;
    found.what = captions ? "COCO file, images with captions" : "COCO file, images with boxes";
    return found;
  }
  if (has("data")) {
    found.kind = DataKind::answers, found.what = "SQuAD file, questions with answers in a text";
    return found;
  }
  Names keys;
  if (json.is_object())
    for (const auto& item : json.items()) keys.push_back("'" + item.key() + "'");
  if (keys.size() > 8) keys.resize(8), keys.emplace_back("..");
  fail("{}: expected a COCO file ('images' and 'annotations') or a SQuAD file ('data'), found {}", path.string(),
       keys.empty() ? "no object with keys" : joined(keys, ", "));
}

Recognised recognise_text(const fs::path& path) {
  const std::string text = read_text(path);
  Recognised found{.kind = DataKind::text, .paths = {path}, .what = "plain text"};
  std::size_t lines = 0, tagged = 0, captions = 0, tabs = 0, blank = 0;
  constexpr std::size_t kLines = 1000;
  for (std::string_view rest = without_mark(text); !rest.empty() && lines < kLines;) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) {
      ++blank;
      continue;
    }
    ++lines;
    const std::string_view last = line.substr(line.find_last_of(" \t") + 1);
    const bool tag = last == "O" || last.starts_with("B-") || last.starts_with("I-");
    tagged += tag && last.size() < line.size() ? 1 : 0;
    captions += line.find(".jpg#") != line.npos ? 1 : 0;
    tabs += line.find('\t') != line.npos ? 1 : 0;
  }
  check(lines > 0, "{}: the file is empty", path.string());
  if (tagged * 10 > lines * 9 && blank > 0) {
    found.kind = DataKind::tagged_words, found.what = "CoNLL file, a word and its tag per line";
  } else if (captions * 10 > lines * 9) {
    found.kind = DataKind::captions, found.what = "Flickr's token file, images with captions";
  } else if (tabs == lines) {
    return recognise_table(path, TableFormat::tsv);
  }
  return found;
}

bool holds_images(const fs::path& folder) {
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error))
    if (is_image_name(entry->path().filename().string())) return true;
  return false;
}

Recognised recognise_folder(const fs::path& folder) {
  Recognised found{.kind = DataKind::labelled_images, .paths = {folder}};
  std::size_t loose = 0, records = 0, classes = 0;
  if (is_folder(folder / "Annotation")) {
    found.kind = DataKind::objects, found.what = "Penn-Fudan's folder, images with boxes";
    return found;
  }
  for (const fs::path& file : files_in(folder)) {
    const std::string name = file.filename().string();
    loose += is_image_name(name) ? 1 : 0, records += is_idx_name(name) || is_cifar_name(name) ? 1 : 0;
  }
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error))
    if (entry->is_directory(error) && holds_images(entry->path())) ++classes;
  if (records > 0) {
    found.what = "MNIST's or CIFAR's files, images with classes";
  } else if (classes > 0) {
    found.what = fmt::format("folder of images, a folder for each class{}",
                             loose ? fmt::format("; {} images beside those folders are not used", loose) : "");
  } else if (loose > 0) {
    found.kind = DataKind::loose_images, found.what = "folder of images without classes";
  } else {
    fail("{}: expected images (.jpg, .jpeg, .png or .webp) in a folder for each class, 'cat/1.jpg', found {}",
         folder.string(), folder_contents(folder));
  }
  return found;
}

}  // namespace

Recognised recognise_columns(const Table& table) {
  const Names columns = columns_of(table);
  Recognised found;
  std::vector<ColumnLook> looks;
  for (const std::string& column : columns) looks.push_back(look_at(table, column));
  const auto image = std::ranges::find_if(looks, &ColumnLook::images);
  const auto repeats = [&](const ColumnLook& look) {
    return look.distinct >= 2 && look.length < 40 && look.distinct * 3 <= std::max<std::size_t>(table.rows.size(), 6);
  };
  found.label = usual(columns, kLabels);
  if (image != looks.end()) {
    found.kind = DataKind::labelled_images, found.first = image->name;
    for (const ColumnLook& look : looks)
      if (found.label.empty() && !look.images && repeats(look)) found.label = look.name;
    found.what = fmt::format("images in '{}', labels in '{}'", found.first, found.label);
    check(!found.label.empty(), "{}: expected a column of labels beside the images in '{}', found the columns {}",
          table.path, found.first, joined(columns, ", "));
    return found;
  }
  if (const auto [first, second] = named_sides(columns); !first.empty()) return as_pairs(found, first, second);
  found.first = usual(columns, kTexts), found.second = usual(columns, kPairs);
  // What has no usual name is found by what is in it: the longest is the text, one that repeats the label.
  if (found.label.empty())
    for (const ColumnLook& look : looks)
      if (look.name != found.first && look.name != found.second && repeats(look)) found.label = look.name;
  if (found.first.empty()) {
    const ColumnLook* longest = nullptr;
    for (const ColumnLook& look : looks)
      if (look.name != found.label && look.name != found.second && (!longest || look.length > longest->length))
        longest = &look;
    if (longest) found.first = longest->name;
  }
  if (found.label.empty() && columns.size() == 2) return as_pairs(found, columns[0], columns[1]);
  check(!found.label.empty() && !found.first.empty(),
        "{}: expected a column of texts and one of labels, or two columns of texts, found the columns {}; rename one "
        "to 'label', or name it (--label-column)",
        table.path, joined(columns, ", "));
  found.kind = DataKind::labelled_text;
  found.what = fmt::format("texts in '{}'{}, labels in '{}'", found.first,
                           found.second.empty() ? "" : fmt::format(" and '{}'", found.second), found.label);
  return found;
}

bool is_data_json(const fs::path& path) {
  if (ending(path) != ".json" || !path_exists(path) || is_folder(path)) return false;
  constexpr std::uintmax_t kLargestRecipe = 1 << 20;
  std::error_code error;
  if (fs::file_size(path, error) > kLargestRecipe && !error) return true;  // not parsed only to be told apart
  try {
    const Json json = read_json(path);
    return json.is_object() && ((json.contains("images") && json.contains("annotations")) ||
                                (json.contains("data") && json["data"].is_array()));
  } catch (const Error&) {
    return false;  // whoever reads it as a recipe says what is wrong with it
  }
}

Recognised recognise(const std::vector<fs::path>& paths) {
  check(paths.size() == 1 || paths.size() == 2, "expected one path, or two text files line by line, not {}",
        paths.size());
  for (const fs::path& path : paths) check(path_exists(path), "{}: there is no such file or folder", path.string());
  if (paths.size() == 2) {
    for (const fs::path& path : paths)
      check(!is_folder(path), "{}: is a folder; of two paths both are text files, line by line", path.string());
    return {.kind = DataKind::parallel_text, .paths = paths, .what = "two text files, line by line"};
  }
  const fs::path& path = paths[0];
  const std::string end = ending(path), name = path.filename().string();
  if (is_folder(path)) return recognise_folder(path);
  if (is_idx_name(name) || end == ".bin")
    return {.kind = DataKind::labelled_images, .paths = paths, .what = "MNIST's or CIFAR's file, images with classes"};
  if (end == ".csv") return recognise_table(path, TableFormat::csv);
  if (end == ".tsv" || end == ".tab") return recognise_table(path, TableFormat::tsv);
  if (end == ".jsonl" || end == ".ndjson") return recognise_table(path, TableFormat::jsonl);
  if (end == ".json") return recognise_json(path);
  check(!is_image_name(name), "{}: is one image; expected a folder of them, a table or a COCO file", path.string());
  return recognise_text(path);
}

}  // namespace attend::data
