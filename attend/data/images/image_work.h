// What making batches of images on several threads has in common: how many lie ready, limits, and errors that do not
// depend on which thread was faster.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

#include "attend/base/error.h"

namespace attend::data {

inline constexpr std::int64_t kMostBatchesAhead = 8;                  // batches,
inline constexpr std::int64_t kBytesAhead = std::int64_t{1} << 30;    // and their bytes, but at least two
inline constexpr std::int64_t kLargestBatch = std::int64_t{1} << 33;  // values

inline std::size_t batches_ahead(std::size_t values) {
  const auto bytes = static_cast<std::int64_t>(std::max<std::size_t>(values * sizeof(float), 1));
  return static_cast<std::size_t>(std::clamp<std::int64_t>(kBytesAhead / bytes, 2, kMostBatchesAhead));
}

inline void check_image_batch(std::int64_t batch, std::int64_t values) {
  check(batch >= 1 && batch <= kLargestBatch / std::max<std::int64_t>(values, 1),
        "images: a batch of {} with {} values each is not possible: at least 1 image and at most {} values", batch,
        values, kLargestBatch);
}

inline void check_image_items(const std::vector<std::int64_t>& items, std::int64_t count) {
  check(!items.empty(), "images: there are none");
  for (const std::int64_t item : items)
    check(item >= 0 && item < count, "images: there is no number {} among {}", item, count);
}

// work(i) for the rows of a batch. Of several that throw the first counts, whichever thread was faster.
template <class Work>
auto guarded(std::vector<std::exception_ptr>& errors, Work&& work) {
  return [&errors, work = std::forward<Work>(work)](std::int64_t i) {
    try {
      work(i);
    } catch (...) {
      errors[static_cast<std::size_t>(i)] = std::current_exception();
    }
  };
}

inline void rethrow_first(const std::vector<std::exception_ptr>& errors) {
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace attend::data
