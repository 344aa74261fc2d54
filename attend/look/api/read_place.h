// Reads which attention a request is about.
#pragma once

#include "attend/base/json.h"
#include "attend/look/inspect/inspect.h"

namespace attend::look {

// {"stack", "kind", "layer"}; missing fields are taken from `otherwise`.
AttentionPlace read_place(const Json& object, const AttentionPlace& otherwise = {});
Ablation read_ablation(const Json& object, const AttentionPlace& otherwise = {});

}  // namespace attend::look
