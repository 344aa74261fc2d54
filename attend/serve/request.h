// Reading what the page asks for. Every value has the type it should have, or the request is refused with an Error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attend/base/json.h"
#include "attend/inspect/inspect.h"

namespace attend::serve {

// Null when it is not there, or null.
const Json* field(const Json& object, const char* name);
std::int64_t whole(const Json& object, const char* name, std::int64_t otherwise);
double real(const Json& object, const char* name, double otherwise);
bool flag(const Json& object, const char* name, bool otherwise);
std::string word(const Json& object, const char* name, const char* otherwise);
std::vector<std::int32_t> ids(const Json& list, const char* name);
const Json& items(const Json& object, const char* name);
// {"stack", "kind", "layer"}; what is left out is as otherwise says.
tasks::AttentionPlace read_place(const Json& object, const tasks::AttentionPlace& otherwise = {});
tasks::Ablation read_ablation(const Json& object, const tasks::AttentionPlace& otherwise = {});

}  // namespace attend::serve
