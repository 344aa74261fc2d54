#include "attend/experiments/digit_task.h"

#include <algorithm>

#include "attend/base/random.h"

namespace attend::experiments {

std::string solve(DigitTask task, const std::string& digits) {
  std::string answer = digits;
  if (task == DigitTask::reverse)
    std::reverse(answer.begin(), answer.end());
  else
    std::sort(answer.begin(), answer.end());
  return answer;
}

std::vector<std::int32_t> to_ids(const std::string& digits) {
  std::vector<std::int32_t> ids;
  for (char digit : digits) ids.push_back(kZeroId + digit - '0');
  return ids;
}

std::string to_digits(const std::vector<std::int32_t>& ids) {
  std::string digits;
  for (std::int32_t id : ids)
    digits += id >= kZeroId && id < kDigitVocabulary ? static_cast<char>('0' + id - kZeroId) : '?';
  return digits;
}

DigitBatch make_digit_batch(const DigitBatchOptions& options, std::uint32_t index) {
  DigitBatch batch;
  const auto words_a_row = static_cast<std::uint64_t>(options.max_length + 1);
  const auto padded = [&](std::vector<std::int32_t> ids, std::int64_t length, std::int32_t filler,
                          std::vector<std::int32_t>& into) {
    ids.resize(static_cast<std::size_t>(length), filler);
    into.insert(into.end(), ids.begin(), ids.end());
  };
  for (std::int64_t row = 0; row < options.rows; ++row) {
    std::uint64_t word = static_cast<std::uint64_t>(row) * words_a_row;
    const auto draw = [&](std::int64_t below) {
      return random_word(options.seed, index, word++) % static_cast<std::uint32_t>(below);
    };
    const std::int64_t length = options.min_length + draw(options.max_length - options.min_length + 1);
    std::string digits;
    for (std::int64_t i = 0; i < length; ++i) digits += static_cast<char>('0' + draw(10));
    const std::vector<std::int32_t> source = to_ids(digits), answer = to_ids(solve(options.task, digits));
    std::vector<std::int32_t> in = {kStartId}, out = answer;
    in.insert(in.end(), answer.begin(), answer.end());
    out.push_back(kEndId);
    padded(source, options.max_length, kPadId, batch.source);
    padded(in, options.max_length + 1, kPadId, batch.target_in);
    padded(out, options.max_length + 1, kIgnoreId, batch.target_out);
    batch.source_lengths.push_back(static_cast<std::int32_t>(length));
  }
  return batch;
}

}  // namespace attend::experiments
