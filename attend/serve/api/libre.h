// As LibreTranslate: /translate, /detect, /languages, /frontend/settings, /spec. Requests are JSON, a form, or in the
// address; languages are those of the models that are served. Errors are {"error": ".."}.
#pragma once

#include "attend/serve/api/api_adapter.h"

namespace attend::serve {

class LibreTranslateApi : public ApiAdapter {
 public:
  using ApiAdapter::ApiAdapter;
  bool takes(const http::Request& request) const override;
  http::Response refused(const Refusal& refusal) const override;
  std::optional<http::Response> answer(const http::Request& request,
                                       const std::shared_ptr<http::Exchange>& exchange) override;
  bool reads_keys() const override { return true; }

 private:
  http::Response translate(const Json& request, const Work& work) const;
};

}  // namespace attend::serve
