// As Hugging Face's inference API: POST /models/NAME and /models/NAME/pipeline/TASK with {"inputs", "parameters"}, or a
// picture's bytes. What a model answers is what its task answers there. Errors are {"error": ".."}.
#pragma once

#include "attend/serve/api/door.h"

namespace attend::serve {

class HuggingFaceDoor : public Door {
 public:
  using Door::Door;
  bool takes(const http::HttpRequest& request) const override;
  http::HttpResponse refused(const Refusal& refusal) const override;
  std::optional<http::HttpResponse> answer(const http::HttpRequest& request,
                                           const std::shared_ptr<http::Exchange>& exchange) override;
};

// attend/serve/api/pictures.cpp: of a model that looks at pictures. Nothing: it does not.
std::optional<http::HttpResponse> look_at_picture(const ServedModel& model, const http::HttpRequest& request,
                                                  const Work& work);

}  // namespace attend::serve
