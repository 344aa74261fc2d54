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

ModelRegistry::ModelRegistry(Api& first, std::string first_name, std::vector<ModelEntry> entries, Open open,
                             LiveTraining* training)
    : first_(first),
      first_name_(std::move(first_name)),
      bundled_(std::move(entries)),
      open_(std::move(open)),
      training_(training) {
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
  if (training_) add_training();
}

void ModelRegistry::add_training() {
  const auto question = [&](const char* name, Json (LiveTraining::*answer)(const Json&)) {
    routes_.add({.method = "POST", .path = std::string(kApiPrefix) + name},
                [this, answer](const http::Request& request, const http::PathValues&) -> http::Response {
                  if (!std::string_view(request.content_type).starts_with("application/json"))
                    return http::refused(415, "the body must be application/json");
                  try {
                    return {.body = dumped((training_->*answer)(parse_json(request.body, "request")))};
                  } catch (const Error& error) {
                    return http::refused(400, error.what());
                  }
                });
  };
  question("train", &LiveTraining::start);
  question("training", &LiveTraining::lines);
}

std::vector<ModelEntry> ModelRegistry::entries() const {
  std::vector<ModelEntry> all = bundled_;
  if (training_)
    for (ModelEntry& trained : training_->trained()) all.push_back(std::move(trained));
  return all;
}

http::Response ModelRegistry::list() const {
  Json models = Json::array();
  for (const ModelEntry& entry : entries()) models.push_back({{"name", entry.name}, {"about", entry.about}});
  Json list = {{"first", first_name_}, {"models", std::move(models)}};
  if (training_) list["trainings"] = LiveTraining::tasks();
  return {.body = dumped(list)};
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
  const std::vector<ModelEntry> all = entries();
  const auto entry = std::ranges::find(all, name, &ModelEntry::name);
  if (entry == all.end()) return http::refused(404, "there is no model of that name here");
  try {
    std::unique_ptr<Opened>& opened = opened_[name];
    if (!opened) opened = open_(*entry);
    return opened->api().handle(request);
  } catch (const Error& error) {
    return http::refused(400, error.what());
  }
}

std::vector<ModelEntry> shipped_entries() {
  std::vector<ModelEntry> entries;
  for (const std::string& name : tasks::shipped_models())
    entries.push_back({name, title_of(tasks::find_model(name) / "README.md")});
  return entries;
}

}  // namespace attend::look
