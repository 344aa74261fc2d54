// A model that writes about images, looked at: its sentence word by word, what else it might have written, and where
// every layer and head looked for each word (figure 3 of Xu et al. 2015). One without attention has nothing of that:
// all it ever knows of the image is one vector, and that is shown.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attend/base/json.h"
#include "attend/image/image.h"
#include "attend/look/inspect/inspect.h"
#include "attend/tasks/describer.h"
#include "attend/view/figure.h"

namespace attend::look {

struct CaptionInspection {
  image::Image seen = {};
  std::string text = {};
  float score = 0;  // normalised log-probability
  bool finished = true;
  std::vector<std::string> tokens = {};       // as people read them; the end mark among them
  std::vector<InspectedStep> steps = {};      // one for each of them, or none where only the words are known
  Extent2 grid = {};                          // of the regions that the decoder reads
  std::vector<SeenAttention> attention = {};  // by layer, [heads, tokens, places of the grid]
  std::vector<float> start = {};              // of one without attention: all it knows of the image
  std::int64_t channels = 0;                  // numbers that a region has

  // Where a word looked by the last layer, all heads averaged; empty for one without attention.
  std::vector<float> looks(std::size_t token) const;
};

struct CaptionOptions {
  std::int64_t beams = 4;
  std::size_t candidates = 8;
};
CaptionInspection inspect_caption(const tasks::LoadedDescriber& describer, const image::Image& prepared,
                                  const CaptionOptions& options = {});

// How many layers look at the image, and with how many heads each: found by a look at a grey one.
std::vector<std::int64_t> caption_heads(const tasks::LoadedDescriber& describer);

// {"seen", "text", "score", "finished", "grid", "tokens", "steps", "attention": [{.., "weights": packed}], "start",
// "channels"}
Json caption_json(const CaptionInspection& inspection);
// The sentence, and one small image for each word. Throws Error for a model without attention.
view::Figure caption_page(const CaptionInspection& inspection);

}  // namespace attend::look
