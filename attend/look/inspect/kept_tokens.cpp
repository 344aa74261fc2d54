#include "attend/look/inspect/kept_tokens.h"

#include <algorithm>
#include <numeric>

#include "attend/base/error.h"
#include "attend/base/unicode/unicode.h"
#include "attend/nn/narrowed.h"

namespace attend::look {

void check_text(const std::string& text) {
  check(!find_invalid_utf8(text), "the text is not UTF-8");
  check(text.find_first_not_of(" \t\r\n") != std::string::npos, "there is no text");
}

std::vector<std::size_t> kept_tokens(std::size_t count, std::span<const std::int64_t> masked) {
  std::vector<std::size_t> kept;
  for (const std::int64_t token : masked)
    check(token >= 0 && token < static_cast<std::int64_t>(count), "there is no source token {}", token);
  for (std::size_t i = 0; i < count; ++i)
    if (std::find(masked.begin(), masked.end(), static_cast<std::int64_t>(i)) == masked.end()) kept.push_back(i);
  check(!kept.empty(), "every source token is masked");
  return kept;
}

SeenAttention spread(const Anatomy::Attention& attention, const view::Collector& collector, const Spread& over) {
  SeenAttention seen{attention.place, attention.heads, over.all_rows, over.all_columns};
  seen.causal = attention.place.stack == "decoder" && attention.place.kind == "self";
  if (attention.place.kind == "self") seen.window = nn::narrowed(attention.window, over.window, seen.causal);
  const view::AttentionWeights& weights = collector.at(attention.label);
  seen.weights.assign(static_cast<std::size_t>(seen.heads) * seen.rows * seen.columns, 0.0f);
  check(weights.values.size() == static_cast<std::size_t>(seen.heads) * over.rows.size() * over.columns.size(),
        "look: {} weights of {} for {} rows and {} columns", weights.values.size(), attention.label, over.rows.size(),
        over.columns.size());
  const float* from = weights.values.data();
  for (std::size_t h = 0; h < static_cast<std::size_t>(seen.heads); ++h)
    for (const std::size_t row : over.rows)
      for (const std::size_t column : over.columns)
        seen.weights[(h * seen.rows + row) * seen.columns + column] = *from++;
  return seen;
}

std::vector<std::size_t> all_of(std::size_t count) {
  std::vector<std::size_t> result(count);
  std::iota(result.begin(), result.end(), std::size_t{0});
  return result;
}

std::vector<std::size_t> order_of(const StatesRequest& request, std::size_t count) {
  if (request.order.empty()) return all_of(count);
  std::vector<char> seen(count);
  std::vector<std::size_t> order;
  for (const std::int64_t i : request.order) {
    const auto token = static_cast<std::size_t>(i);
    check(i >= 0 && token < count && !seen[token], "an order has each of the {} tokens once, and {} is not", count, i);
    seen[token] = 1, order.push_back(token);
  }
  check(order.size() == count, "an order of {} tokens has {}", count, order.size());
  return order;
}

}  // namespace attend::look
