// The files that came before tokenizer.json, as the tokenizer.json they mean.
#pragma once

#include <filesystem>

#include "attend/base/json.h"

namespace attend::text {

// Byte-level BPE: a vocabulary in JSON and a list of merges, one per line. config.json or tokenizer_config.json beside
// them may say that it is RoBERTa's, which puts <s> and </s> around the text.
Json read_gpt2_files(const std::filesystem::path& vocabulary, const std::filesystem::path& merges);

// BERT's vocab.txt, one token per line. tokenizer_config.json beside it may hold do_lower_case (true unless it says
// otherwise), strip_accents and tokenize_chinese_chars.
Json read_bert_vocabulary(const std::filesystem::path& path);

}  // namespace attend::text
