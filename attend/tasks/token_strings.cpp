#include "attend/tasks/token_strings.h"

#include <algorithm>

namespace attend::tasks {

std::vector<std::string> token_strings(const text::Tokenizer& tokenizer, std::span<const std::int32_t> ids) {
  const std::string whole = tokenizer.decode(ids);
  std::vector<std::string> result;
  std::size_t begin = 0;
  for (std::size_t count = 1; count <= ids.size(); ++count) {
    std::size_t end = whole.size();
    if (count < ids.size()) {
      // Half a character decodes to something else, so only what agrees with the whole counts.
      const std::string part = tokenizer.decode(ids.first(count));
      end = static_cast<std::size_t>(std::mismatch(part.begin(), part.end(), whole.begin(), whole.end()).second -
                                     whole.begin());
      while (end < whole.size() && end > 0 && (static_cast<unsigned char>(whole[end]) & 0xC0) == 0x80) --end;
      end = std::max(end, begin);
    }
    result.push_back(whole.substr(begin, end - begin));
    begin = end;
  }
  return result;
}

}  // namespace attend::tasks
