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

namespace {
constexpr std::string_view kLookPath = "/look";
}

struct LookApi::Copy {
  std::int64_t created = 0;  // of the model it is a copy of
  std::unique_ptr<Backend> backend;
  std::unique_ptr<look::Inspector> text;
  std::unique_ptr<look::ImageInspector> images;
  std::unique_ptr<look::ImageApi> image_api;
  std::unique_ptr<look::Api> api;
};

LookApi::LookApi(ApiContext& context, Options options) : ApiAdapter(context), options_(std::move(options)) {}
LookApi::~LookApi() = default;

bool LookApi::takes(const http::Request& request) const {
  return request.path == kLookPath || request.path.starts_with("/look/");
}

http::Response LookApi::refused(const Refusal& refusal) const { return http::refused(refusal.status, refusal.why); }

std::shared_ptr<LookApi::Copy> LookApi::copy_of(const std::string& name) {
  const ServedModelPtr model = context_.models.find(name);
  if (!model) refuse(404, fmt::format("there is no model {}", name));
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Copy>& kept = copies_[name];
  if (kept && kept->created == model->created()) return kept;
  const auto copy = std::make_shared<Copy>();
  copy->created = model->created();
  copy->backend = options_.open_backend();
  if (look::looks_at_images(model->folder())) {
    copy->images = std::make_unique<look::ImageInspector>(model->folder(), *copy->backend, DType::f32);
    copy->image_api = std::make_unique<look::ImageApi>(*copy->images);
  } else {
    copy->text = look::open_inspector(model->folder(), *copy->backend, DType::f32);
  }
  copy->api =
      std::make_unique<look::Api>(look::Api::Parts{.inspector = copy->text.get(), .images = copy->image_api.get()},
                                  look::ApiOptions{.name = name, .only_local_names = options_.only_local_names});
  return kept = copy;
}

std::optional<http::Response> LookApi::answer(const http::Request& request, const std::shared_ptr<http::Exchange>&) {
  std::string_view rest = std::string_view(request.path).substr(kLookPath.size());
  if (rest.empty() || rest == "/") {
    std::string page =
        page_head("attend look") + "<p>The inside of every model served here, on copies of their own.</p><ul>";
    for (const ServedModelPtr& model : context_.models.all())
      page += fmt::format("<li><a href=\"/look/{0}/\">{0}</a>: {1}", model->name(), catalogue::name_of(model->task()));
    return http::Response{.type = "text/html; charset=utf-8", .body = page + "</ul>"};
  }
  rest.remove_prefix(1);
  const std::size_t slash = rest.find('/');
  const std::string name(rest.substr(0, slash));
  if (slash == std::string_view::npos) {
    http::Response there = http::refused(307, "the page is one folder down");
    there.headers.emplace_back("location", fmt::format("/look/{}/", name));
    if (!context_.models.find(name)) refuse(404, "there is no such model");
    return there;
  }
  http::Request inner = request;
  inner.path = rest.substr(slash);
  return copy_of(name)->api->handle(inner);
}

}  // namespace attend::serve
