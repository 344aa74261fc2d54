// How a folder wants its model's texts searched for: generation_config.json, or config.json of older repositories.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "attend/base/json_fwd.h"
#include "attend/decode/hypothesis.h"

namespace attend::tasks {

struct SearchDefaults {
  std::int64_t beams = 4;
  decode::LengthPenalty penalty = decode::LengthPenalty::wu;
  float alpha = 0.6f;
  std::int64_t max_length = 0;           // tokens with the start and the end; 0: as many as the model writes
  std::vector<std::int32_t> never = {};  // written: bad_words_ids of one token
};

// Of a folder of transformers: num_beams, length_penalty, max_length and bad_words_ids. What
// is out of range is an Error that names the file.
SearchDefaults search_defaults(const std::filesystem::path& folder, const Json& config, std::int64_t vocabulary);

}  // namespace attend::tasks
