// What language-model and masked-lm read: texts to train and to validate on, each setting one file or several.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attend/data/text/token_stream.h"
#include "attend/train/loop/run_folder.h"

namespace attend::train {

// The files of both settings. Throws Error when one, or the run's folder, is not named.
std::vector<train::DataFile> text_files(const std::vector<std::string>& text,
                                        const std::vector<std::string>& valid_text, const std::string& out);

// Of a run that holds out a share of its text.
std::vector<train::DataFile> text_files(const std::vector<std::string>& text, const std::string& out);

// The texts as tokens of the folder's tokenizer, kept there under this name. line_end: see data::TokenStreamFiles.
data::TokenStream token_stream(const train::RunFolder& folder, const std::vector<std::string>& texts, const char* name,
                               std::int32_t line_end = -1);

}  // namespace attend::train
