// A data set's facts as text for a terminal, and as a page of HTML that needs no other file.
#pragma once

#include <string>

#include "attend/data/facts/facts.h"

namespace attend::data {

// The first examples alone, as they are understood.
std::string samples_text(const DataFacts& facts);
std::string report_text(const DataFacts& facts);
std::string report_page(const DataFacts& facts);

}  // namespace attend::data
