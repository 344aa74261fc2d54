#include "attend/serve/engine/served_models.h"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "attend/base/error.h"

namespace attend::serve {

void ServedModels::open(const std::string& name, const std::filesystem::path& folder) {
  check(!find(name), "serve: two models are called {}; give one another name: --model NAME=DIR", name);
  auto model = std::make_shared<const ServedModel>(name, folder, options_, engine_, metrics_);
  const std::lock_guard lock(mutex_);
  models_.push_back(std::move(model));
}

std::vector<std::string> ServedModels::reload() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(reloading_, true)) {
      once_more_ = true;
      return {"models are being opened anew already; they are looked at once more behind that"};
    }
  }
  std::vector<std::string> said;
  for (bool more = true; more;) {
    try {
      reload_changed(said);
    } catch (const std::exception&) {  // no memory even to say so
    }
    const std::lock_guard lock(mutex_);
    more = std::exchange(once_more_, false);
    reloading_ = more;
  }
  if (said.empty()) said.emplace_back("no model has changed");
  return said;
}

void ServedModels::reload_changed(std::vector<std::string>& said) {
  for (const ServedModelPtr& old : all()) {
    if (!old->changed()) continue;
    try {
      auto model = std::make_shared<const ServedModel>(old->name(), old->folder(), options_, engine_, metrics_);
      const std::lock_guard lock(mutex_);
      std::ranges::replace(models_, old, ServedModelPtr(std::move(model)));
      said.push_back(fmt::format("{}: opened anew", old->name()));
    } catch (const std::exception& error) {
      said.push_back(fmt::format("{}: stays as it was: {}", old->name(), error.what()));
    }
  }
}

std::vector<ServedModelPtr> ServedModels::all() const {
  const std::lock_guard lock(mutex_);
  return models_;
}

ServedModelPtr ServedModels::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(models_, [&](const ServedModelPtr& model) { return model->name() == name; });
  return found == models_.end() ? nullptr : *found;
}

}  // namespace attend::serve
