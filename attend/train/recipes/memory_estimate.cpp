#include "attend/train/recipes/memory_estimate.h"

#include <fmt/core.h>

#include <algorithm>

namespace attend::train {

namespace {

std::string size_text(double bytes) {
  if (bytes < 1e6) return "less than 1 MB";
  return bytes < 1e9 ? fmt::format("{:.0f} MB", bytes / 1e6) : fmt::format("{:.1f} GB", bytes / 1e9);
}

}  // namespace

StepMemory estimated_memory(const StepSizes& sizes, std::int64_t weights, DType dtype, Recompute recompute) {
  const auto element = static_cast<double>(bytes_of(dtype)), tokens = static_cast<double>(sizes.tokens);
  const auto width = static_cast<double>(sizes.width), hidden = static_cast<double>(sizes.hidden);
  StepMemory memory;
  // The master, the gradient and two moments in f32; in bf16 the value besides.
  memory.weights = static_cast<double>(weights) * (16 + (dtype == DType::f32 ? 0 : element));
  // Of a layer and token: two sums and two norms of the stream, queries, keys and values, what attention mixed; then
  // the hidden units before and after their activation.
  const double attention = 8 * width * element + 4 * static_cast<double>(sizes.heads) + 16;
  const double feed_forward = 2 * hidden * element, layer = attention + feed_forward;
  const double kept = recompute == Recompute::none           ? layer
                      : recompute == Recompute::feed_forward ? attention
                                                             : width * element;
  memory.kept = tokens * (static_cast<double>(sizes.layers) * kept + 2 * width * element);
  // Gradients that are under way, and what runs again.
  const double again = recompute == Recompute::none ? 0 : recompute == Recompute::feed_forward ? feed_forward : layer;
  constexpr double kChunk = 4096;  // rows of logits at a time
  memory.work = std::max(tokens * (again + 3 * width * element + hidden * element),
                         std::min(tokens, kChunk) * static_cast<double>(sizes.vocabulary) * element);
  return memory;
}

std::string memory_text(const StepSizes& sizes, std::int64_t weights, DType dtype, Recompute recompute, double room) {
  if (sizes.layers == 0 || sizes.tokens == 0) return "";
  const StepMemory memory = estimated_memory(sizes, weights, dtype, recompute);
  const std::string text =
      fmt::format("a step will take {}{} of memory ({} for weights and moments, {} for its tokens)",
                  memory.all() < 1e6 ? "" : "roughly ", size_text(memory.all()), size_text(memory.weights),
                  size_text(memory.kept + memory.work));
  if (room <= 0 || memory.all() <= room) return text;
  std::string ways;
  for (const auto& [name, other] : {std::pair{"feed-forward", Recompute::feed_forward}, {"layer", Recompute::layer}})
    if (other > recompute)
      ways += fmt::format("--recompute {} takes {}; ", name,
                          size_text(estimated_memory(sizes, weights, dtype, other).all()));
  if (dtype == DType::f32)
    ways += fmt::format("--dtype bf16 {}; ", size_text(estimated_memory(sizes, weights, DType::bf16, recompute).all()));
  return fmt::format(
      "warning: {}, and there are {}. {}half of --batch with twice --accumulate learns the same from half "
      "the tokens at a time, and a smaller --block or model takes less",
      text, size_text(room), ways);
}

}  // namespace attend::train
