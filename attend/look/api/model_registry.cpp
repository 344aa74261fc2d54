#include "attend/look/api/model_registry.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/look/api/inspection_json.h"
#include "attend/tasks/model_folder.h"

namespace attend::look {

namespace {

constexpr std::string_view kPrefix = "/models/";

// "# en-fr: English to French, .." -> "English to French, .."
std::string title_of(const std::filesystem::path& path) {
  std::string card;
  try {
    card = read_file(path.string());
  } catch (const Error&) {  // a model without a card has no title
  }
  const std::string line = card.substr(0, card.find('\n'));
  const std::size_t colon = line.find(": ");
  return colon == std::string::npos ? "" : line.substr(colon + 2);
}

}  // namespace

http::Response ModelRegistry::handle(const http::Request& request) {
  if (!first_.answers_to(request.host)) return first_.handle(request);  // which refuses it
  if (request.path == "/api/models") {
    Json models = Json::array();
    for (const Entry& entry : entries_) models.push_back({{"name", entry.name}, {"about", entry.about}});
    return {.body = dumped({{"first", first_name_}, {"models", std::move(models)}})};
  }
  if (request.path.starts_with(kPrefix)) {
    const std::size_t end = request.path.find('/', kPrefix.size());
    if (end == std::string::npos) return http::refused(404, "there is no such page");
    http::Request inner = request;
    inner.path = request.path.substr(end);
    const std::string name = request.path.substr(kPrefix.size(), end - kPrefix.size());
    const std::lock_guard lock(models_);
    return name == first_name_ ? first_.handle(inner) : handle_other(inner, name);
  }
  if (request.method != "POST") return first_.handle(request);
  const std::lock_guard lock(models_);
  return first_.handle(request);
}

http::Response ModelRegistry::handle_other(const http::Request& request, const std::string& name) {
  if (std::ranges::find(entries_, name, &Entry::name) == entries_.end())
    return http::refused(404, "there is no model of that name here");
  try {
    std::unique_ptr<Opened>& opened = opened_[name];
    if (!opened) opened = open_(name);
    return opened->api().handle(request);
  } catch (const Error& error) {
    return http::refused(400, error.what());
  }
}

std::vector<ModelRegistry::Entry> shipped_entries() {
  std::vector<ModelRegistry::Entry> entries;
  for (const std::string& name : tasks::shipped_models())
    entries.push_back({name, title_of(tasks::find_model(name) / "README.md")});
  return entries;
}

}  // namespace attend::look
