// Several models behind one page: the one that was asked for, and those that come with attend, each opened when it is
// first looked at. Addresses that begin with /models/NAME/ are that model's, all others the first one's; GET
// /api/models lists them. Where the page may train, POST /api/train starts it and POST /api/training tells how it goes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "attend/http/http.h"
#include "attend/http/routes.h"
#include "attend/look/api/api.h"
#include "attend/look/api/live_training.h"
#include "attend/look/api/model_entry.h"

namespace attend::look {

class ModelRegistry {
 public:
  // A model with all that its Api refers to.
  class Opened {
   public:
    virtual ~Opened() = default;
    virtual Api& api() = 0;
  };
  using Open = std::function<std::unique_ptr<Opened>(const ModelEntry& model)>;

  // first must outlive it and is called first_name; others are opened by what open returns, which may throw Error.
  // training, if any, must outlive it, too: what it has trained can be opened.
  ModelRegistry(Api& first, std::string first_name, std::vector<ModelEntry> entries, Open open,
                LiveTraining* training = nullptr);
  ModelRegistry(const ModelRegistry&) = delete;
  ModelRegistry& operator=(const ModelRegistry&) = delete;

  // Any thread.
  http::Response handle(const http::Request& request);

 private:
  using Handler = std::function<http::Response(const http::Request& request, const http::PathValues& path)>;
  void add_training();
  std::vector<ModelEntry> entries() const;
  http::Response list() const;
  http::Response handle_other(const http::Request& request, const std::string& name);

  Api& first_;
  std::string first_name_;
  const std::vector<ModelEntry> bundled_;
  Open open_;
  LiveTraining* training_;
  http::RouteTable<Handler> routes_;
  std::map<std::string, std::unique_ptr<Opened>> opened_;
  std::mutex models_;  // one computation at a time, whosever
};

// What there is to choose from: the models that come with attend, each with the title of its card.
std::vector<ModelEntry> shipped_entries();

}  // namespace attend::look
