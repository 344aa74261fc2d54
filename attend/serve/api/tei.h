// As text-embeddings-inference: /embed, /embed_all, /predict, /rerank, /similarity, /tokenize, /decode, /info. Beside
// its fields, a request may have "model" (or ?model=) where several are served. Errors are {"error", "error_type"}.
#pragma once

#include "attend/serve/api/api_adapter.h"

namespace attend::serve {

class TeiApi : public ApiAdapter {
 public:
  std::string family() const override { return "text-embeddings-inference"; }
  void add_routes(ApiRoutes& routes) override;
  http::Response refused(const Refusal& refusal) const override;
  int bad_request() const override { return 422; }
};

}  // namespace attend::serve
