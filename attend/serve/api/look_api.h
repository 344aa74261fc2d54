// The page of attend look for every model, at /look/NAME/. Each has a copy of its model, opened when somebody looks, so
// that what is switched off there is switched off for nobody else.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "attend/serve/api/api_adapter.h"

namespace attend::serve {

class LookApi : public ApiAdapter {
 public:
  struct Options {
    std::function<std::unique_ptr<Backend>()> open_backend;
    bool only_local_names = true;
  };
  explicit LookApi(Options options);
  ~LookApi() override;
  std::string family() const override { return "attend look"; }
  void add_routes(ApiRoutes& routes) override;
  http::Response refused(const Refusal& refusal) const override;

 private:
  struct Copy;
  std::shared_ptr<Copy> copy_of(const ServedModels& models, const std::string& name);

  Options options_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Copy>> copies_;
};

}  // namespace attend::serve
