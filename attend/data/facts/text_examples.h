// The texts of a data set as one list, whatever file they come from: lines, pairs of lines, rows of a table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attend/data/facts/recognise.h"

namespace attend::data {

struct TextExample {
  std::int64_t line = 0;  // in its file, from 1
  std::string first, second = {}, label = {};
};

struct TextExamples {
  std::vector<TextExample> examples;
  std::string left_out = {};       // "3 rows left out: .."; empty when there are none
  std::int64_t lines[2] = {0, 0};  // of two files
};

// Of the kinds text, parallel_text, text_pairs and labelled_text. Throws Error when two files do not have as many
// lines.
TextExamples read_text_examples(const Recognised& data);

}  // namespace attend::data
