// As OpenAI's API, as far as it fits models of this kind: /v1/models, /v1/embeddings, /v1/completions, the last also
// under /models/NAME, where Hugging Face's client looks for it. Errors are {"error": {message, type, param, code}}.
#pragma once

#include "attend/serve/api/api_adapter.h"

namespace attend::serve {

class OpenAiApi : public ApiAdapter {
 public:
  std::string family() const override { return "OpenAI"; }
  void add_routes(ApiRoutes& routes) override;
  http::Response refused(const Refusal& refusal) const override;
};

// attend/serve/api/completions.cpp. model: instead of the one the body names.
std::optional<http::Response> complete(const Json& body, const std::string& model, const Work& work);

}  // namespace attend::serve
