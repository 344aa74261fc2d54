// The page as one file that opens from disk: styles, modules and the data of one sentence inside it.
#pragma once

#include <string>

#include "attend/serve/api.h"

namespace attend::serve {

// Carries the translation, the same without positions, and one walk step by step. What would need the model is shown
// as switched off.
std::string exported_page(Api& api, const std::string& text);

}  // namespace attend::serve
