// Numbers in English words, to digits: "two thousand and seven" -> 2007. From 0 to 999,999, as many of one digit as of
// six. Zeros are written where nothing was said, so that position matters, not only the word. Half of the numbers have
// the British "and".
#include <fmt/core.h>

#include "attend/data/synthetic/text_makers.h"

namespace attend::data {

namespace {

constexpr int kMostDigits = 6;

constexpr std::string_view kBelowTwenty[] = {
    "zero", "one",    "two",    "three",    "four",     "five",    "six",     "seven",     "eight",    "nine",
    "ten",  "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
constexpr std::string_view kTens[] = {"",      "",      "twenty",  "thirty", "forty",
                                      "fifty", "sixty", "seventy", "eighty", "ninety"};

std::string words_below_hundred(int number) {
  if (number < 20) return std::string(kBelowTwenty[number]);
  const std::string tens(kTens[number / 10]);
  return number % 10 == 0 ? tens : fmt::format("{}-{}", tens, kBelowTwenty[number % 10]);
}

std::string words_below_thousand(int number, std::string_view joint) {
  if (number < 100) return words_below_hundred(number);
  const std::string hundreds = fmt::format("{} hundred", kBelowTwenty[number / 100]);
  return number % 100 == 0 ? hundreds : hundreds + std::string(joint) + words_below_hundred(number % 100);
}

std::string words_of(int number, std::string_view joint) {
  if (number < 1000) return words_below_thousand(number, joint);
  const std::string thousands = words_below_thousand(number / 1000, joint) + " thousand";
  const int rest = number % 1000;
  if (rest == 0) return thousands;
  return thousands + (rest < 100 ? std::string(joint) : " ") + words_below_thousand(rest, joint);
}

}  // namespace

TextPair make_number(TextRandom& random) {
  int least = 1;
  for (int digits = random.below(kMostDigits); digits > 0; --digits) least *= 10;
  const int number = least == 1 ? random.below(10) : least + random.below(9 * least);
  return {words_of(number, random.one_in(2) ? " and " : " "), fmt::format("{}", number)};
}

}  // namespace attend::data
