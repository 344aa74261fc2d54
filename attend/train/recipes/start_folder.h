// What a training run starts from: a tokenizer and its special tokens, given, learned or taken over from another model
// folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "attend/models/bert.h"
#include "attend/text/tokenizer.h"
#include "attend/train/recipes/run_settings.h"

namespace attend::train {

// The file of a folder that decides its tokenizer: tokenizer.json, vocab.json or vocab.txt.
std::filesystem::path tokenizer_file(const std::filesystem::path& folder);

// The folder a run goes on from, by its path or the name of a shipped model. Throws Error when it is the run's own.
std::filesystem::path start_folder(const std::string& from, const std::filesystem::path& out);

// The tokenizer.json of a setting that names it or its folder, as text. Throws Error naming it when it is none.
std::string given_tokenizer(const std::filesystem::path& given);

// Copies the tokenizer of a folder, or a file of one, into the folder.
void copy_tokenizer(const std::filesystem::path& from, const std::filesystem::path& folder);

// A new tokenizer.json, with tokenizer_config.json, for the family: WordPiece, or byte-level BPE for RoBERTa.
struct LearnedTokenizer {
  models::BertFamily family = models::BertFamily::bert;
  std::vector<std::string> texts = {};  // files
  std::string lines = {};               // more text
  std::int64_t vocabulary_size = 8192;
  std::int64_t max_length = 512;
  int threads = 0;
};
void learn_tokenizer(const LearnedTokenizer& wanted, const std::filesystem::path& folder, const TrainOptions& options);

struct SpecialTokens {
  std::int32_t start = 0, end = 0, pad = 0, mask = -1;  // mask -1: there is none
};
// [CLS], [SEP], [PAD], [MASK], or as RoBERTa calls them. Throws Error when one but the mask is missing.
SpecialTokens special_tokens(const text::Tokenizer& tokenizer, const std::string& what);

// The ids that are no special tokens.
std::vector<std::int32_t> ordinary_tokens(const text::Tokenizer& tokenizer);

}  // namespace attend::train
