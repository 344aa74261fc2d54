// A folder of made text (text_makers.h):
//   train.src train.tgt   valid.src valid.tgt   test.src test.tgt    line by line, for attend train
//   lines.txt lines.valid.txt                                        for a GPT or a BERT: grammar's English, recall's
//                                                                    lines with what comes again
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "attend/data/synthetic/text_makers.h"

namespace attend::data {

struct TextFolderOptions {
  TextKind kind = TextKind::dates;
  std::int64_t count = 20000;  // lines to learn from
  std::int64_t unseen = 1000;  // lines to validate with, and as many to test with
  std::uint64_t seed = 1;
  std::int64_t distance = 64;  // recall: so many places behind themselves letters come again
  // Called with the lines done so far. What it throws ends the work and leaves nothing.
  std::function<void(std::int64_t done)> on_progress = {};
};

inline constexpr std::int64_t kMostTextLines = 1'000'000;  // of a set

// The folder is there as a whole or not at all. Throws Error when there is one already that holds anything. Returns the
// bytes written.
std::int64_t write_texts(const std::filesystem::path& folder, const TextFolderOptions& options);

}  // namespace attend::data
