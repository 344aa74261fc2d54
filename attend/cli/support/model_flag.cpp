#include "attend/cli/support/model_flag.h"

#include "attend/base/paths.h"
#include "attend/tasks/model_folder.h"

namespace attend::cli {

Flag add_model_flag(Flags& flags, const std::string& flag, std::string& model, const std::string& help) {
  return flags.add(flag, model, help + ", or the name of a bundled model.").then([&model] {
    model = tasks::find_model(model).string();
  });
}

Flag add_model_file_flag(Flags& flags, const std::string& flag, std::string& path, const std::string& help) {
  return flags.add(flag, path, help + ", or the name of a bundled model.").takes("PATH").then([&path] {
    if (!path_exists(path)) path = tasks::find_model(path).string();
  });
}

}  // namespace attend::cli
