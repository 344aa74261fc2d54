// Dates as people write them, to ISO 8601: "the 3rd of March 1987" -> 1987-03-03. The image of alignment: each digit
// of the target is read from one place of the source, and the places trade order from spelling to spelling.
//   years        1930 to 2029, so that two digits mean one year: 87 is 1987, 05 is 2005
//   03/04/1987   the month first, as in the United States: 1987-03-04
//   3.4.1987     the day first, as in Germany: 1987-04-03
// A weekday is the right one, and says nothing that is not said besides.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>

#include "attend/data/synthetic/text_makers.h"

namespace attend::data {

namespace {

constexpr int kFirstYear = 1930, kYears = 100;

constexpr std::string_view kMonths[] = {"January", "February", "March",     "April",   "May",      "June",
                                        "July",    "August",   "September", "October", "November", "December"};
constexpr std::string_view kWeekdays[] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
constexpr std::string_view kOrdinals[] = {
    "first",         "second",       "third",         "fourth",       "fifth",        "sixth",          "seventh",
    "eighth",        "ninth",        "tenth",         "eleventh",     "twelfth",      "thirteenth",     "fourteenth",
    "fifteenth",     "sixteenth",    "seventeenth",   "eighteenth",   "nineteenth",   "twentieth",      "twenty-first",
    "twenty-second", "twenty-third", "twenty-fourth", "twenty-fifth", "twenty-sixth", "twenty-seventh", "twenty-eighth",
    "twenty-ninth",  "thirtieth",    "thirty-first"};

// 1st, 2nd, 3rd, 4th, 11th, 21st
std::string with_suffix(int day) {
  const int last = day / 10 == 1 ? 0 : day % 10;
  return fmt::format("{}{}", day, last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th");
}

struct Day {
  int year = 0, month = 0, day = 0;
  std::string_view weekday = {};
};

Day draw_day(TextRandom& random) {
  using namespace std::chrono;
  const sys_days first = sys_days(year(kFirstYear) / January / 1);
  const sys_days end = sys_days(year(kFirstYear + kYears) / January / 1);
  const sys_days drawn = first + days(random.below(static_cast<int>((end - first).count())));
  const year_month_day date(drawn);
  return {.year = static_cast<int>(date.year()),
          .month = static_cast<int>(static_cast<unsigned>(date.month())),
          .day = static_cast<int>(static_cast<unsigned>(date.day())),
          .weekday = kWeekdays[weekday(drawn).c_encoding()]};
}

std::string spell_in_figures(const Day& date, TextRandom& random) {
  const int year = date.year, month = date.month, day = date.day, short_year = year % 100;
  switch (random.below(6)) {
    case 0:
      return fmt::format("{:02}/{:02}/{}", month, day, year);
    case 1:
      return fmt::format("{}/{}/{}", month, day, year);
    case 2:
      return fmt::format("{}/{}/{:02}", month, day, short_year);
    case 3:
      return fmt::format("{:02}.{:02}.{}", day, month, year);
    case 4:
      return fmt::format("{}.{}.{}", day, month, year);
    default:
      return fmt::format("{}.{}.{:02}", day, month, short_year);
  }
}

std::string spell_in_words(const Day& date, TextRandom& random) {
  const std::string_view month = kMonths[date.month - 1];
  const std::string_view abbreviated = month.substr(0, 3);
  const int year = date.year, short_year = year % 100, day = date.day;
  const std::string nth = with_suffix(day);
  switch (random.below(14)) {
    case 0:
      return fmt::format("{} {} {}", day, month, year);
    case 1:
      return fmt::format("{} {}, {}", month, day, year);
    case 2:
      return fmt::format("{} of {} {}", nth, month, year);
    case 3:
      return fmt::format("the {} of {}, {}", nth, month, year);
    case 4:
      return fmt::format("{} {}, {}", month, nth, year);
    case 5:
      return fmt::format("{} {}, {:02}", abbreviated, day, short_year);
    case 6:
      return fmt::format("{} {} {}", day, abbreviated, year);
    case 7:
      return fmt::format("{:02}-{}-{:02}", day, abbreviated, short_year);
    case 8:
      return fmt::format("{}, {} {} {}", date.weekday, day, month, year);
    case 9:
      return fmt::format("{} {} {} {}", date.weekday.substr(0, 3), day, abbreviated, year);
    case 10:
      return fmt::format("{}, {} {}, {}", date.weekday, month, nth, year);
    case 11:
      return fmt::format("the {} of {} {}", kOrdinals[day - 1], month, year);
    case 12:
      return fmt::format("{} the {}, {}", month, kOrdinals[day - 1], year);
    default:
      return fmt::format("in {}, on {} {}", year, month, day);
  }
}

std::string in_small_letters(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

}  // namespace

TextPair make_date(TextRandom& random) {
  const Day date = draw_day(random);
  std::string source = random.one_in(4) ? spell_in_figures(date, random) : spell_in_words(date, random);
  if (random.one_in(8)) source = in_small_letters(std::move(source));
  return {std::move(source), fmt::format("{}-{:02}-{:02}", date.year, date.month, date.day)};
}

}  // namespace attend::data
