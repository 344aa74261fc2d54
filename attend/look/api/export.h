// The page as one file that opens from disk: styles, modules and the data of one sentence inside it.
#pragma once

#include <string>

#include "attend/look/api/api.h"
#include "attend/look/api/image_questions.h"

namespace attend::look {

// Without data, for whoever asks a server: one answer instead of one for each file.
const std::string& whole_page();
// Carries the translation, the same without positions, and one walk step by step. What would need the model is shown
// as switched off.
std::string exported_page(Api& api, const std::string& text);
// The same of an image, by the name that images.keep() gave it.
std::string exported_image(Api& api, ImageQuestions& images, const std::string& name);

}  // namespace attend::look
