// What is in a data set, counted: how many examples, how long, which words and classes, and what looks wrong.
// `attend data report` prints it, and `attend train` chooses its settings by it (train/recipes/automatic).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attend/data/facts/recognise.h"

namespace attend::data {

// Of a list of numbers: the least, the median, the one that 95 of 100 do not exceed, and the largest.
struct Spread {
  std::int64_t count = 0, least = 0, median = 0, most95 = 0, most = 0;
  double mean = 0;
};
Spread spread_of(std::vector<std::int64_t> numbers);

struct TextFacts {
  std::string name = {};     // the file or the column
  Spread characters, words;  // of a line
  std::int64_t distinct_characters = 0, distinct_words = 0;
  std::int64_t once = 0;         // of the distinct words those that come once
  std::int64_t digits = 0;       // of the distinct words those with a digit,
  std::int64_t once_digits = 0;  // and of these those that come once
  std::int64_t bytes = 0;
};
TextFacts facts_of_lines(const std::vector<std::string_view>& lines);

struct Finding {
  std::string text;
  std::vector<std::string> where = {};  // a few places
};

struct Sample {
  std::string left, right = {};  // an input and what is to be said of it
};

struct DataFacts {
  Recognised data;
  std::int64_t examples = 0;
  std::string noun = "examples";  // what they are: pairs, texts, images
  std::vector<TextFacts> texts = {};
  std::vector<std::pair<std::string, std::int64_t>> classes = {};  // with how many examples of each
  Spread image_width = {}, image_height = {};                      // in pixels
  Spread boxes = {};                                               // in an image
  std::vector<Finding> findings = {};
  std::vector<Sample> samples = {};  // the first three, as they are understood
};

struct FactsOptions {
  // Decodes every image, to find those that are broken and those that are there twice. Else a few, for their sizes.
  bool all_images = true;
  // Labelled images to test with, compared with those of the set. Without it, the test part of the set's own folder.
  std::filesystem::path test = {};
};
DataFacts gather_facts(const Recognised& data, const FactsOptions& options = {});

// Of images (image_facts.cpp).
void add_image_facts(DataFacts& facts, const FactsOptions& options);

}  // namespace attend::data
