// As Hugging Face's inference API: POST /models/NAME and /models/NAME/pipeline/TASK with {"inputs", "parameters"}, or a
// picture's bytes. What a model answers is what its task answers there. Errors are {"error": ".."}.
#pragma once

#include "attend/serve/door.h"

namespace attend::serve {

class HuggingFaceDoor : public Door {
 public:
  using Door::Door;
  bool takes(const HttpRequest& request) const override;
  HttpResponse refused(const Refusal& refusal) const override;
  std::optional<HttpResponse> answer(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) override;
};

// attend/serve/doors/pictures.cpp: of a model that looks at pictures. Nothing: it does not.
std::optional<HttpResponse> look_at_picture(const serving::ServedModel& model, const HttpRequest& request,
                                            const Work& work);

}  // namespace attend::serve
