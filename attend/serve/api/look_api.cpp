#include "attend/serve/api/look_api.h"

#include <fmt/core.h>

#include <utility>

#include "attend/base/error.h"
#include "attend/look/api/api.h"
#include "attend/look/api/image_api.h"
#include "attend/look/inspect/image.h"
#include "attend/look/inspect/image_page.h"
#include "attend/look/inspect/inspect.h"
#include "attend/serve/api/openapi.h"
#include "attend/tensor/backend.h"

namespace attend::serve {

namespace look_pages {
namespace {

constexpr std::string_view kPrefix = "/look/";

http::Response list_models(const ApiCall& call) {
  std::string page =
      page_head("attend look") + "<p>The inside of every model served here, on copies of their own.</p><ul>";
  for (const ServedModelPtr& model : call.context().models.all())
    page += fmt::format("<li><a href=\"/look/{0}/\">{0}</a>: {1}", model->name(), catalogue::name_of(model->task()));
  return {.type = "text/html; charset=utf-8", .body = page + "</ul>"};
}

http::Response one_folder_down(const ApiCall& call) {
  if (!call.context().models.find(call.at("id"))) refuse(404, "there is no such model");
  http::Response there = http::refused(307, "the page is one folder down");
  there.headers.emplace_back("location", fmt::format("{}{}/", kPrefix, call.at("id")));
  return there;
}

}  // namespace
}  // namespace look_pages

struct LookApi::Copy {
  std::int64_t created = 0;  // of the model it is a copy of
  std::unique_ptr<Backend> backend;
  std::unique_ptr<look::Inspector> text;
  std::unique_ptr<look::ImageInspector> images;
  std::unique_ptr<look::ImageApi> image_api;
  std::unique_ptr<look::Api> api;
};

LookApi::LookApi(Options options) : options_(std::move(options)) {}
LookApi::~LookApi() = default;

// Each model has the page's own routes under its name.
void LookApi::add_routes(ApiRoutes& routes) {
  add(routes, {"GET", "/look", "The attention of every model at work."}, look_pages::list_models);
  add(routes, {"GET", "/look/"}, look_pages::list_models);
  const look::Api page({}, {});  // of no model: only its list of routes
  for (const http::Route& route : page.routes())
    add(routes,
        {route.method, fmt::format("{}{{id}}{}", look_pages::kPrefix, route.path), route.summary, route.example},
        [this](const ApiCall& call) {
          http::Request inner = call.request;
          inner.path = call.request.path.substr(look_pages::kPrefix.size() + call.at("id").size());
          return copy_of(call.context().models, call.at("id"))->api->handle(inner);
        });
  add(routes, {"GET", "/look/{id}"}, look_pages::one_folder_down);
}

http::Response LookApi::refused(const Refusal& refusal) const { return http::refused(refusal.status, refusal.why); }

std::shared_ptr<LookApi::Copy> LookApi::copy_of(const ServedModels& models, const std::string& name) {
  const ServedModelPtr model = models.find(name);
  if (!model) refuse(404, fmt::format("there is no model {}", name));
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Copy>& kept = copies_[name];
  if (kept && kept->created == model->created()) return kept;
  const auto copy = std::make_shared<Copy>();
  copy->created = model->created();
  copy->backend = options_.open_backend();
  if (look::looks_at_images(model->folder())) {
    copy->images = std::make_unique<look::ImageInspector>(model->folder(), *copy->backend, DType::f32);
    copy->image_api = std::make_unique<look::ImageApi>(*copy->images, model->folder());
  } else {
    copy->text = look::open_inspector(model->folder(), *copy->backend, DType::f32);
  }
  copy->api =
      std::make_unique<look::Api>(look::Api::Parts{.inspector = copy->text.get(), .images = copy->image_api.get()},
                                  look::ApiOptions{.name = name, .only_local_names = options_.only_local_names});
  return kept = copy;
}

}  // namespace attend::serve
