// The sentences of the lectures through the model we ship: their translations, where each word of them came from, and
// what "it" looks at.
#pragma once

#include <string>

#include "attend/cli/support/streams.h"

namespace attend::cli {

struct TranslationDemoOptions {
  std::string device = "cpu";
  int threads = 0;
};

void run_translation_demo(const TranslationDemoOptions& options, const Streams& streams);

}  // namespace attend::cli
