// What a server counts about itself, as Prometheus reads it (text format 0.0.4).
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attend::serve {

class Metrics {
 public:
  // labels: as they stand between the braces, `model="en-fr"`; may be empty.
  void count(std::string_view name, std::string_view labels = {}, double by = 1);
  void set(std::string_view name, double value, std::string_view labels = {});
  void observe(std::string_view name, double value);                        // a time in seconds, or a size
  double value(std::string_view name, std::string_view labels = {}) const;  // 0 where nothing was counted
  std::string text() const;

 private:
  struct Histogram {
    std::vector<std::uint64_t> counts;  // one for each bound, and the rest
    double sum = 0;
    std::uint64_t total = 0;
  };
  struct Family {
    const char* type = "counter";
    std::map<std::string, double> values;  // by labels
    Histogram histogram;
  };
  Family& family(std::string_view name, const char* type);

  mutable std::mutex mutex_;
  std::map<std::string, Family, std::less<>> families_;
};

}  // namespace attend::serve
