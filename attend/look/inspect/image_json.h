// What was seen of an image, as the JSON of docs/look.md: for the page, and for a line of a run's look.jsonl.
#pragma once

#include <span>

#include "attend/base/json.h"
#include "attend/look/inspect/image.h"

namespace attend::look {

// Numbers from 0 to 1 in 16 bits each, the low byte first, in base64: of 196 weights that are alike, each is 334 units.
std::string packed_shares(std::span<const float> values);
// An image as the address of an image.
std::string image_address(const image::Image& image);
// The same; a large one as JPEG, which takes a tenth of the room.
std::string shown_address(const image::Image& image);

// {"layer", "heads", "tokens", "queries": [h, w], "keys": [h, w], "window", "shift"}, and stack and kind as texts have.
Json place_json(const models::AttentionPlace& place, std::int64_t layer);
// {"seen", "labels", "text", "attention": [{place, "heat"}], "rollout"}; every layer's heat is [heads, keys].
Json image_json(const ImageInspection& inspection);
// {place, "rows", "columns", "windows", "weights"}: the whole of one layer.
Json attention_json(const ImageAttention& attention, std::int64_t layer);

}  // namespace attend::look
