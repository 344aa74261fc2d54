// The models of a server by their names. They may be replaced while requests run: those go on with what they began
// with.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "attend/serve/engine/served_model.h"

namespace attend::serve {

using ServedModelPtr = std::shared_ptr<const ServedModel>;

class ServedModels {
 public:
  ServedModels(Engine& engine, Metrics& metrics, ServedOptions options)
      : engine_(engine), metrics_(metrics), options_(std::move(options)) {}

  // Throws Error when there is one of that name, or the folder cannot be served.
  void open(const std::string& name, const std::filesystem::path& folder);
  // Opens anew those whose files have changed; what is wrong with one of them leaves the old one in place. What to say
  // of it, one line each. Any thread, one at a time: who comes while another is at it returns at once, and the other
  // looks once more at the end.
  std::vector<std::string> reload();

  // All of them, in the order they were opened.
  std::vector<ServedModelPtr> all() const;
  ServedModelPtr find(std::string_view name) const;  // null when there is none

 private:
  void reload_changed(std::vector<std::string>& said);

  Engine& engine_;
  Metrics& metrics_;
  ServedOptions options_;
  mutable std::mutex mutex_;
  std::vector<ServedModelPtr> models_;
  bool reloading_ = false, once_more_ = false;
};

}  // namespace attend::serve
