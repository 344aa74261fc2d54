// As OpenAI's API, as far as it fits models of this kind: /v1/models, /v1/embeddings, /v1/completions, the last also
// under /models/NAME, where Hugging Face's client looks for it. Errors are {"error": {message, type, param, code}}.
#pragma once

#include "attend/serve/api/api_adapter.h"

namespace attend::serve {

class OpenAiApi : public ApiAdapter {
 public:
  using ApiAdapter::ApiAdapter;
  bool takes(const http::Request& request) const override;
  http::Response refused(const Refusal& refusal) const override;
  std::optional<http::Response> answer(const http::Request& request,
                                       const std::shared_ptr<http::Exchange>& exchange) override;

 private:
  http::Response models(const http::Request& request) const;
  http::Response embeddings(const Json& body, const Work& work) const;
};

// attend/serve/api/completions.cpp. model: instead of the one the body names.
std::optional<http::Response> complete(const Json& body, const std::string& model, const Work& work);

}  // namespace attend::serve
