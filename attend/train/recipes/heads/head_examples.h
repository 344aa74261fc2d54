// Labelled texts as a model reads them, with their targets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attend/data/text/labelled_text.h"
#include "attend/train/recipes/heads/head_batches.h"

namespace attend::train {

// The labels or tags that occur: whole numbers by size, others by their letters, O first.
std::vector<std::string> labels_in(const data::LabelledFile& file, tasks::TargetKind kind);

struct EncodedTexts {
  std::vector<HeadExample> examples;
  std::int64_t cut = 0;  // texts longer than the model reads
};

// labels are as the file has them. Throws Error naming path:line for a label that is none of them, and for one that is
// no number where numbers are wanted.
EncodedTexts encode_texts(const tasks::EncoderReader& reader, const data::LabelledFile& file, tasks::TargetKind kind,
                          const std::vector<std::string>& labels);

}  // namespace attend::train
