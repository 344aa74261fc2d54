#include "attend/serve/doors/look_door.h"

#include <fmt/core.h>

#include <utility>

#include "attend/base/error.h"
#include "attend/inspect/inspect.h"
#include "attend/inspect/picture.h"
#include "attend/inspect/picture_page.h"
#include "attend/serve/api.h"
#include "attend/serve/openapi.h"
#include "attend/serve/picture_api.h"
#include "attend/tensor/backend.h"

namespace attend::serve {

namespace look {
namespace {
constexpr std::string_view kPath = "/look";
}
}  // namespace look

struct LookDoor::Copy {
  std::int64_t created = 0;  // of the model it is a copy of
  std::unique_ptr<Backend> backend;
  std::unique_ptr<tasks::Inspector> text;
  std::unique_ptr<tasks::PictureInspector> pictures;
  std::unique_ptr<PictureApi> picture_api;
  std::unique_ptr<Api> api;
};

LookDoor::LookDoor(DoorContext& context, Options options) : Door(context), options_(std::move(options)) {}
LookDoor::~LookDoor() = default;

bool LookDoor::takes(const HttpRequest& request) const {
  return request.path == look::kPath || request.path.starts_with("/look/");
}

HttpResponse LookDoor::refused(const Refusal& refusal) const { return serve::refused(refusal.status, refusal.why); }

std::shared_ptr<LookDoor::Copy> LookDoor::copy_of(const std::string& name) {
  const serving::ServedModelPtr model = context_.models.find(name);
  if (!model) refuse(404, fmt::format("there is no model {}", name));
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Copy>& kept = copies_[name];
  if (kept && kept->created == model->created()) return kept;
  const auto copy = std::make_shared<Copy>();
  copy->created = model->created();
  copy->backend = options_.open_backend();
  if (tasks::looks_at_pictures(model->folder())) {
    copy->pictures = std::make_unique<tasks::PictureInspector>(model->folder(), *copy->backend, DType::f32);
    copy->picture_api = std::make_unique<PictureApi>(*copy->pictures);
  } else {
    copy->text = tasks::open_inspector(model->folder(), *copy->backend, DType::f32);
  }
  copy->api = std::make_unique<Api>(Api::Parts{.inspector = copy->text.get(), .pictures = copy->picture_api.get()},
                                    ApiOptions{.name = name, .only_local_names = options_.only_local_names});
  return kept = copy;
}

std::optional<HttpResponse> LookDoor::answer(const HttpRequest& request, const std::shared_ptr<Exchange>&) {
  std::string_view rest = std::string_view(request.path).substr(look::kPath.size());
  if (rest.empty() || rest == "/") {
    std::string page =
        page_head("attend look") + "<p>The inside of every model served here, on copies of their own.</p><ul>";
    for (const serving::ServedModelPtr& model : context_.models.all())
      page += fmt::format("<li><a href=\"/look/{0}/\">{0}</a>: {1}", model->name(), catalogue::name_of(model->task()));
    return HttpResponse{.type = "text/html; charset=utf-8", .body = page + "</ul>"};
  }
  rest.remove_prefix(1);
  const std::size_t slash = rest.find('/');
  const std::string name(rest.substr(0, slash));
  if (slash == std::string_view::npos) {
    HttpResponse there = serve::refused(307, "the page is one folder down");
    there.headers.emplace_back("location", fmt::format("/look/{}/", name));
    if (!context_.models.find(name)) refuse(404, "there is no such model");
    return there;
  }
  HttpRequest inner = request;
  inner.path = rest.substr(slash);
  return copy_of(name)->api->handle(inner);
}

}  // namespace attend::serve
