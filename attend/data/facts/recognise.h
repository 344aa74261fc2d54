// What a user's own files are, found by looking into them: a table with named columns, two text files line by line, a
// folder of images, a COCO file. `attend data report` and `attend train` without a task go by it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "attend/data/text/table.h"

namespace attend::data {

enum class DataKind : std::uint8_t {
  text,             // plain lines, for a language model
  parallel_text,    // two files, line by line
  text_pairs,       // a table with two columns of text that translate each other
  labelled_text,    // a table of texts with labels
  tagged_words,     // CoNLL
  answers,          // SQuAD
  labelled_images,  // a folder for each class, a table of paths and labels, MNIST, CIFAR
  loose_images,     // images in one folder, without classes
  objects,          // COCO's instances, Penn-Fudan
  captions,         // COCO's captions, Flickr's token file
};

struct Recognised {
  DataKind kind = DataKind::text;
  std::vector<std::filesystem::path> paths;
  TableFormat format = TableFormat::csv;            // of a table
  bool header = true;                               // the first row of it names the columns
  std::string first = {}, second = {}, label = {};  // columns of a table: text or source, pair or target, label
  std::string what = {};                            // for a person: "CSV, texts in 'question', labels in 'kind'"
};

// One path, or two text files that belong together. Throws Error that says what was expected and what was found.
Recognised recognise(const std::vector<std::filesystem::path>& paths);

// A file of JSON that is data (COCO, SQuAD) and no recipe.
bool is_data_json(const std::filesystem::path& path);

// The columns of a table, by their usual names or by what is in them: labels are short and repeat, texts do not.
Recognised recognise_columns(const Table& table);

}  // namespace attend::data
