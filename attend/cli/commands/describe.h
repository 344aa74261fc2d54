// attend describe: a sentence about each image, and where the model looked for each of its words.
#pragma once

#include "attend/cli/support/streams.h"
#include "attend/tasks/describer.h"
#include "attend/view/caption_figure.h"

namespace attend::cli {

class Flags;

// The image as the model saw it, under each word of its sentence.
view::CaptionAttention words_seen(const image::Image& image, const tasks::Description& description);

void add_describe_command(Flags& program, const Streams& streams);

}  // namespace attend::cli
