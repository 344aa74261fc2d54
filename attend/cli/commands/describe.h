// attend describe: a sentence about each picture, and where the model looked for each of its words.
#pragma once

#include "attend/cli/support/streams.h"
#include "attend/tasks/describer.h"
#include "attend/view/caption_picture.h"

namespace attend::cli {

class Flags;

// The picture as the model saw it, under each word of its sentence.
view::CaptionPicture words_seen(const image::Image& picture, const tasks::Description& description);

void add_describe_command(Flags& program, const Streams& streams);

}  // namespace attend::cli
