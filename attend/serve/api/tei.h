// As text-embeddings-inference: /embed, /embed_all, /predict, /rerank, /similarity, /tokenize, /decode, /info. Beside
// its fields, a request may have "model" (or ?model=) where several are served. Errors are {"error", "error_type"}.
#pragma once

#include "attend/serve/api/api_adapter.h"

namespace attend::serve {

class TeiApi : public ApiAdapter {
 public:
  using ApiAdapter::ApiAdapter;
  bool takes(const http::Request& request) const override;
  http::Response refused(const Refusal& refusal) const override;
  std::optional<http::Response> answer(const http::Request& request,
                                       const std::shared_ptr<http::Exchange>& exchange) override;
  int bad_request() const override { return 422; }
};

}  // namespace attend::serve
