// A task for small models: read a string of digits, write it reversed or sorted. Whoever solves it must look at the
// right digit at the right time, so the learned cross-attention can be checked by eye.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace attend::experiments {

enum class DigitTask : std::uint8_t { reverse, sort };

inline constexpr std::int32_t kPadId = 0, kStartId = 1, kEndId = 2, kZeroId = 3, kDigitVocabulary = 13;
inline constexpr std::int32_t kIgnoreId = -100;

std::string solve(DigitTask task, const std::string& digits);
std::vector<std::int32_t> to_ids(const std::string& digits);
std::string to_digits(const std::vector<std::int32_t>& ids);

// Rows padded to max_length (source) and max_length + 1 (target).
struct DigitBatch {
  std::vector<std::int32_t> source, source_lengths, target_in, target_out;
};
struct DigitBatchOptions {
  DigitTask task = DigitTask::reverse;
  std::int64_t rows = 64, min_length = 3, max_length = 10;
  std::uint64_t seed = 1;
};
// Batch number `index` of a seed: always the same one.
DigitBatch make_digit_batch(const DigitBatchOptions& options, std::uint32_t index);

}  // namespace attend::experiments
