#include "attend/look/api/model_registry.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/look/api/inspection_json.h"
#include "attend/tasks/model_folder.h"

namespace attend::look {

namespace {

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

ModelRegistry::ModelRegistry(Api& first, std::string first_name, std::vector<Entry> entries, Open open)
    : first_(first), first_name_(std::move(first_name)), entries_(std::move(entries)), open_(std::move(open)) {
  routes_.add({.method = "GET", .path = std::string(kApiPrefix) + "models"},
              [this](const http::Request&, const http::PathValues&) { return list(); });
  // Whatever a model's page asks, under its name.
  for (const char* path : {"/models/{name}/{path}", "/models/{name}/"})
    routes_.add({.method = "", .path = path}, [this](const http::Request& request, const http::PathValues& values) {
      http::Request inner = request;
      const auto rest = values.find("path");
      inner.path = "/" + (rest == values.end() ? "" : rest->second);
      const std::string& name = values.at("name");
      const std::lock_guard lock(models_);
      return name == first_name_ ? first_.handle(inner) : handle_other(inner, name);
    });
  routes_.add({.method = "", .path = "/models/{name}"}, [](const http::Request&, const http::PathValues&) {
    return http::refused(404, "there is no such page");
  });
}

http::Response ModelRegistry::list() const {
  Json models = Json::array();
  for (const Entry& entry : entries_) models.push_back({{"name", entry.name}, {"about", entry.about}});
  return {.body = dumped({{"first", first_name_}, {"models", std::move(models)}})};
}

http::Response ModelRegistry::handle(const http::Request& request) {
  if (!first_.answers_to(request.host)) return first_.handle(request);  // which refuses it
  if (const auto match = routes_.find(request); match && !match->wrong_method())
    return routes_.handler(*match)(request, match->values);
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
