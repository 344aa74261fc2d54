// Quotation marks by language: newspapers quote, and corpora that were made for machines often have straight marks or
// none. A translation has the marks of its language; a source has any that its language knows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace attend::data {

// What stands around a quotation: "yes", « oui », „ja“.
struct QuotationMarks {
  std::string_view open, close;
};

// The marks of a translation into the language ("en", "fr", "de", or any other).
QuotationMarks own_marks(std::string_view language);

// Any marks that a text in the language may have, chosen by the draw.
QuotationMarks some_marks(std::string_view language, std::uint32_t draw);

// How many quotation marks the text has. -1 where they do not open and close in turns: a mark for inches, a quotation
// inside another one, one that continues on the next line.
int count_marks(std::string_view text);

// The text with other marks: its quotations open and close in turns (count_marks).
std::string with_marks(std::string_view text, const QuotationMarks& marks);

// The whole text as one quotation.
std::string quoted(std::string_view text, const QuotationMarks& marks);

}  // namespace attend::data
