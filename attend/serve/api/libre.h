// As LibreTranslate: /translate, /detect, /languages, /frontend/settings, /spec. Requests are JSON, a form, or in the
// address; languages are those of the models that are served. Errors are {"error": ".."}.
#pragma once

#include "attend/serve/api/api_adapter.h"

namespace attend::serve {

class LibreTranslateApi : public ApiAdapter {
 public:
  std::string family() const override { return "LibreTranslate"; }
  void add_routes(ApiRoutes& routes) override;
  http::Response refused(const Refusal& refusal) const override;
  bool reads_keys() const override { return true; }
};

}  // namespace attend::serve
