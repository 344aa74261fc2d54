// Named sizes of the Transformer. base and big are those of Vaswani et al. 2017, table 3; tiny and small are for small
// datasets.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attend/models/transformer.h"

namespace attend::models {

// The sizes of tiny, small, base or big, without a vocabulary. Throws Error for another name.
TransformerConfig transformer_preset(std::string_view name);

const std::vector<std::string>& preset_names();

}  // namespace attend::models
