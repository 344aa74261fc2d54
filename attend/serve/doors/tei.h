// As text-embeddings-inference: /embed, /embed_all, /predict, /rerank, /similarity, /tokenize, /decode, /info. Beside
// its fields, a request may have "model" (or ?model=) where several are served. Errors are {"error", "error_type"}.
#pragma once

#include "attend/serve/door.h"

namespace attend::serve {

class TeiDoor : public Door {
 public:
  using Door::Door;
  bool takes(const HttpRequest& request) const override;
  HttpResponse refused(const Refusal& refusal) const override;
  std::optional<HttpResponse> answer(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) override;
  int bad_request() const override { return 422; }
};

}  // namespace attend::serve
