// What a text becomes: one entry per token in each list.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attend/text/aligned_text.h"
#include "attend/text/vocabulary.h"

namespace attend::text {

struct Encoding {
  std::vector<TokenId> ids;
  std::vector<std::string> tokens;
  std::vector<Span> offsets;           // in characters (code points) of the text; (0, 0) for what was put around it
  std::vector<std::int32_t> type_ids;  // 0 for the first text, 1 for the second, where the tokenizer tells them apart

  std::size_t size() const { return ids.size(); }
};

}  // namespace attend::text
