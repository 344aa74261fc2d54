// Reads the fields of a JSON request. A value of the wrong type is an Error that names the field.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attend/base/json.h"

namespace attend::http {

// Null when it is not there, or null.
const Json* field(const Json& object, const char* name);
std::int64_t whole(const Json& object, const char* name, std::int64_t otherwise);
double real(const Json& object, const char* name, double otherwise);
bool flag(const Json& object, const char* name, bool otherwise);
std::string word(const Json& object, const char* name, const char* otherwise);
std::vector<std::int32_t> ids(const Json& list, const char* name);
const Json& items(const Json& object, const char* name);

}  // namespace attend::http
