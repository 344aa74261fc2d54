// Several models behind one page: the one that was asked for, and those that come with attend, each opened when it is
// first looked at. Addresses that begin with /models/NAME/ are that model's, all others the first one's; GET
// /api/models lists them.
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

namespace attend::look {

class ModelRegistry {
 public:
  // A model with all that its Api refers to.
  class Opened {
   public:
    virtual ~Opened() = default;
    virtual Api& api() = 0;
  };
  struct Entry {
    std::string name, about;  // about: one line
  };
  using Open = std::function<std::unique_ptr<Opened>(const std::string& name)>;

  // first must outlive it and is called first_name; others are opened by what open returns, which may throw Error.
  ModelRegistry(Api& first, std::string first_name, std::vector<Entry> entries, Open open);
  ModelRegistry(const ModelRegistry&) = delete;
  ModelRegistry& operator=(const ModelRegistry&) = delete;

  // Any thread.
  http::Response handle(const http::Request& request);

 private:
  using Handler = std::function<http::Response(const http::Request& request, const http::PathValues& path)>;
  http::Response list() const;
  http::Response handle_other(const http::Request& request, const std::string& name);

  Api& first_;
  std::string first_name_;
  std::vector<Entry> entries_;
  Open open_;
  http::RouteTable<Handler> routes_;
  std::map<std::string, std::unique_ptr<Opened>> opened_;
  std::mutex models_;  // one computation at a time, whosever
};

// What there is to choose from: the models that come with attend, each with the title of its card.
std::vector<ModelRegistry::Entry> shipped_entries();

}  // namespace attend::look
