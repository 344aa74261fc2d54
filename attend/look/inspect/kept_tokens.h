// Which tokens of a text a model gets to read when some are masked, and what a probe saw of those spread over the whole
// text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attend/look/inspect/inspect.h"
#include "attend/view/collector.h"

namespace attend::look {

// Throws Error for what is not UTF-8 and for nothing but white space.
void check_text(const std::string& text);

// Which tokens of `count` remain when these are masked. Throws Error when one is not there, or none remains.
std::vector<std::size_t> kept_tokens(std::size_t count, std::span<const std::int64_t> masked);

// One attention, spread over the whole text: rows and columns say where in it the tokens stand that the model read.
struct Spread {
  std::span<const std::size_t> rows, columns;  // of what was read
  std::size_t all_rows = 0, all_columns = 0;
  std::int64_t window = -1;  // Ablation::window
};
SeenAttention spread(const Anatomy::Attention& attention, const view::Collector& collector, const Spread& over);

std::vector<std::size_t> all_of(std::size_t count);

// Which token stands at each place. Throws Error when it is no order of so many.
std::vector<std::size_t> order_of(const StatesRequest& request, std::size_t count);

}  // namespace attend::look
