// The fourth step of a tokenizer: what is put around the tokens of one text or of two ([CLS] a [SEP] b [SEP]), and
// how offsets are trimmed. One class per type of tokenizer.json's "post_processor".
#pragma once

#include <memory>
#include <vector>

#include "attend/text/encoding.h"

namespace attend::text {

class JsonView;

struct PostOptions {
  bool add_special_tokens = true;
};

class PostProcessor {
 public:
  virtual ~PostProcessor() = default;
  // Comes with one text or two, and returns what stands one after the other in the result.
  virtual std::vector<Encoding> apply(std::vector<Encoding> texts, PostOptions options) const = 0;
};

std::unique_ptr<PostProcessor> make_post_processor(const JsonView& json);

}  // namespace attend::text
