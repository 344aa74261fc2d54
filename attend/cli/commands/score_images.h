// attend score --metric coco and --metric captions: COCO's files in, COCO's numbers out.
#pragma once

#include "attend/cli/commands/score.h"

namespace attend::cli {

bool is_image_metric(const std::string& name);
void score_images(const ScoreOptions& options, const Streams& streams);

}  // namespace attend::cli
