// Named sizes of the Transformer: base and big are table 3 of Vaswani et al. 2017, the others are for small data.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attend/models/transformer.h"

namespace attend::models {

// tiny, small, base or big; throws Error naming them otherwise. The vocabulary is left open.
TransformerConfig transformer_preset(std::string_view name);

const std::vector<std::string>& preset_names();

}  // namespace attend::models
