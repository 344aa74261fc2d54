// How many steps (normalizers, pre-tokenizers, decoders, post-processors) a part of tokenizer.json has: each walks over
// the whole text, so that a file with thousands would take for ever.
#pragma once

namespace attend::text {

class JsonView;

// Throws Error naming the part when it has more than limits::kMostSteps, with those inside its sequences.
void check_steps(const JsonView& part);

}  // namespace attend::text
