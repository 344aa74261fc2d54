// The flag that names a model, for every command: a folder by its path, or a shipped one by its name.
#pragma once

#include <string>

#include "attend/cli/support/flags.h"

namespace attend::cli {

// Once parsed, model is the folder's path. flag: "--model", or a name without dashes for one that goes by its place.
Flag add_model_flag(Flags& flags, const std::string& flag, std::string& model, const std::string& help);
inline Flag add_model_flag(Flags& flags, std::string& model, const std::string& help) {
  return add_model_flag(flags, "--model", model, help);
}

// The same where a path may also be a file of such a folder, or a folder that is no whole model.
Flag add_model_file_flag(Flags& flags, const std::string& flag, std::string& path, const std::string& help);

}  // namespace attend::cli
