// What the page has computed to teach with: where a walk ends, what order does to an encoder, and how often a model is
// right as lines get longer. All throw Error for requests that make no sense.
#pragma once

#include "attend/base/json.h"
#include "attend/look/inspect/inspect.h"

namespace attend::look {

// {"count", "log_sum", "words": [{"id", "text", "probability"}], "logits": base64 of f32, the largest first,
//  "computed": {"file", "line"}, "drawn": the same}
Json output_json(const Output& output);

// {"tokens", "width", "rows", "summary"}; the summary is a recurrent network's alone.
Json states_json(const EncoderStates& states);

// Is an encoder the same function of a bag of words, whatever their order? f(Px) against P f(x), with positions and
// without: {"tokens", "order", "width", "with": {"difference", "largest", "rows", "moved"}, "without": the same}.
// Differences are the largest of all numbers, largest that of f(x); rows are the first few columns of f(x) and of f(Px)
// put back in order.
Json compare_orders(Inspector& inspector, const StatesRequest& request);

// Lines of a made language (data/synthetic/text_makers.h) that were in no training set, by length:
// {"language", "unit", "count", "right", "lengths": [{"length", "count", "right", "source", "target", "answer"}]}, of
// each length the first line that is wrong, or the first.
Json exact_by_length(Inspector& inspector, const std::string& language, std::int64_t count);

}  // namespace attend::look
