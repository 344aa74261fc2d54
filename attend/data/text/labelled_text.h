// Texts with what a model shall say about them: a label or a number for a text or a pair, a tag for every word, or an
// answer inside a text. Read from CSV, TSV, JSON Lines, CoNLL (a word per line) and SQuAD's JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attend/data/text/table.h"

namespace attend::data {

struct LabelledText {
  struct Answer {
    std::string text;
    std::int64_t begin = 0;  // in characters of the context
  };
  std::int64_t line = 0;  // in its file; of SQuAD's JSON the number of the question
  std::string text = {};  // the question
  std::string pair = {};  // the second text, or the context
  bool has_pair = false;
  std::string label = {};
  std::vector<std::string> words = {}, tags = {};  // as many of both
  std::vector<Answer> answers = {};                // any of them is right; the first is trained on
};

enum class Labelling : std::uint8_t { text, words, answers };

struct LabelledOptions {
  Labelling labelling = Labelling::text;
  std::string format = "auto";  // csv, tsv, jsonl, conll, squad, or by the name of the file
  bool header = true;           // CSV and TSV: the first row names the columns; without, they are 1, 2, ...
  std::string text_column = {}, pair_column = {}, label_column = {};  // empty: found by the usual names
};

struct LabelledFile {
  std::string path;
  std::vector<LabelledText> texts;
  BadRows bad;
};

// Throws Error naming the file, and the line where there is one, when nothing in it can be used.
LabelledFile read_labelled(const std::string& path, const LabelledOptions& options);
// The same of a text at hand.
LabelledFile parse_labelled(std::string_view text, const std::string& path, const LabelledOptions& options);

// Parsers of whole formats, for parse_labelled().
void parse_conll(std::string_view text, const LabelledOptions& options, LabelledFile& file);
void parse_squad(std::string_view text, LabelledFile& file);

// Tags of one text in IOB2 (Tjong Kim Sang & Veenstra 1999): every name begins with B-. In IOB1, as CoNLL-2003 has it,
// only one that follows another of its kind does. Tags of other kinds stay as they are.
void to_iob2(std::vector<std::string>& tags);

// Where an answer lies that the file only quotes: its first occurrence in the context, in characters; -1 when nowhere.
std::int64_t find_answer(std::string_view context, std::string_view answer);
// Whether the context has the answer at that character.
bool answer_fits(std::string_view context, const LabelledText::Answer& answer);

}  // namespace attend::data
