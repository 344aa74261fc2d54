// attend make-data: data to learn from, made from a seed, where nothing can be downloaded.
#pragma once

#include <cstdint>
#include <string>

#include "attend/cli/support/streams.h"
#include "attend/data/synthetic/scenes_folder.h"

namespace attend::cli {

class Flags;

struct MakeDataOptions {
  std::string what, out;
  std::int64_t count = 20000;  // to learn from
  std::int64_t unseen = 1000;  // to validate with, and for texts as many to test with
  std::uint64_t seed = 1;
  std::int64_t distance = 64;            // of recall
  data::SceneFolderOptions scenes = {};  // but for these three
};

void run_make_data(const MakeDataOptions& options, const Streams& streams);
void add_make_data_command(Flags& program, const Streams& streams);

}  // namespace attend::cli
