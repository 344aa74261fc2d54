// As Hugging Face's inference API: POST /models/NAME and /models/NAME/pipeline/TASK with {"inputs", "parameters"}, or a
// image's bytes. What a model answers is what its task answers there. Errors are {"error": ".."}.
#pragma once

#include "attend/serve/api/api_adapter.h"

namespace attend::serve {

class HuggingFaceApi : public ApiAdapter {
 public:
  std::string family() const override { return "Hugging Face"; }
  void add_routes(ApiRoutes& routes) override;
  http::Response refused(const Refusal& refusal) const override;
};

// attend/serve/api/images.cpp: of a model that looks at images. Nothing: it does not.
std::optional<http::Response> look_at_image(const ServedModel& model, const http::Request& request, const Work& work);

}  // namespace attend::serve
