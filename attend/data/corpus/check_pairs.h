#pragma once

#include "attend/data/corpus/pair_reader.h"

namespace attend::data {

// Reads parallel text once, before anything is computed from it. Throws Error for what PairReader refuses (sides of
// different lengths, the same file twice, no lines, a line that is no sentence) and for text in another encoding than
// UTF-8. A few lines that are not UTF-8 pass: they are left out later. It takes two seconds a gigabyte.
void check_pairs(const PairFiles& files);

}  // namespace attend::data
