#include "attend/nn/global_rows.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace attend::nn {

GlobalRows::GlobalRows(const Tensor& sequences, std::int64_t rows, std::int64_t globals) {
  const std::vector<std::int32_t> begins = download_ints(sequences);
  std::vector<std::int32_t> starts = {0}, from, all(static_cast<std::size_t>(rows));
  std::iota(all.begin(), all.end(), 0);
  for (std::size_t b = 0; b + 1 < begins.size(); ++b) {
    for (std::int32_t row = begins[b]; row < std::min<std::int64_t>(begins[b + 1], begins[b] + globals); ++row) {
      all[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(rows + static_cast<std::int64_t>(from.size()));
      from.push_back(row);
    }
    starts.push_back(static_cast<std::int32_t>(from.size()));
  }
  most = std::max<std::int64_t>(globals, 1);
  const auto ints = [&](const std::vector<std::int32_t>& values) {
    Tensor tensor = like(sequences, {static_cast<std::int64_t>(values.size())});
    upload(tensor, values);
    return tensor;
  };
  offsets = ints(starts), taken = ints(from), merged = ints(all);
}

}  // namespace attend::nn
