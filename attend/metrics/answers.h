// How good answers are, as SQuAD counts (Rajpurkar et al. 2016, section 6.1): small letters, without punctuation and
// English articles; the same, or words in common. Of several right answers the best fit counts.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace attend::metrics {

std::string normalized_answer(std::string_view answer);
// 1 or 0.
double exact_match(std::string_view predicted, std::span<const std::string> truths);
// The harmonic mean of the shares of words in common.
double answer_f1(std::string_view predicted, std::span<const std::string> truths);

}  // namespace attend::metrics
