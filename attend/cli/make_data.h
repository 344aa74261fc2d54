// attend make-data: data to learn from, made from a seed, where nothing can be downloaded.
#pragma once

#include <string>

#include "attend/cli/streams.h"
#include "attend/data/scenes_folder.h"

namespace attend {

class Flags;

struct MakeDataOptions {
  std::string what, out;
  data::SceneFolderOptions scenes = {};
};

void run_make_data(const MakeDataOptions& options, const Streams& streams);
void add_make_data_command(Flags& program, const Streams& streams);

}  // namespace attend
