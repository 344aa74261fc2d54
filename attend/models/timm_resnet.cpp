// timm's names for ResNets and for their parameters.
#include "attend/models/timm_resnet.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>
#include <vector>

#include "attend/base/error.h"

namespace attend::models {

namespace {

struct Architecture {
  std::string_view name;
  bool basic;
  std::int64_t depths[4];
};

constexpr Architecture kArchitectures[] = {{"resnet18", true, {2, 2, 2, 2}},    {"resnet26", false, {2, 2, 2, 2}},
                                           {"resnet34", true, {3, 4, 6, 3}},    {"resnet50", false, {3, 4, 6, 3}},
                                           {"resnet101", false, {3, 4, 23, 3}}, {"resnet152", false, {3, 8, 36, 3}},
                                           {"resnet200", false, {3, 24, 36, 3}}};

// Removes `word` from the front of name; false if name does not begin with it.
bool take(std::string_view& name, std::string_view word) {
  if (!name.starts_with(word)) return false;
  name.remove_prefix(word.size());
  return true;
}

// The same for a number and the dot after it.
std::optional<std::int64_t> take_number(std::string_view& name) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end == name.data() + name.size() || *end != '.') return std::nullopt;
  name.remove_prefix(static_cast<std::size_t>(end - name.data()) + 1);
  return number;
}

// The name of a parameter inside a block; empty if it is none.
std::optional<std::string> block_name(std::string_view name) {
  if (!take(name, "encoder.stages.")) return std::nullopt;
  const auto stage = take_number(name);
  if (!stage || !take(name, "layers.")) return std::nullopt;
  const auto block = take_number(name);
  if (!block) return std::nullopt;
  const std::string place = fmt::format("layer{}.{}.", *stage + 1, *block);
  if (take(name, "shortcut.convolution.")) return fmt::format("{}downsample.0.{}", place, name);
  if (take(name, "shortcut.normalization.")) return fmt::format("{}downsample.1.{}", place, name);
  if (!take(name, "layer.")) return std::nullopt;
  const auto layer = take_number(name);
  if (!layer) return std::nullopt;
  if (take(name, "convolution.")) return fmt::format("{}conv{}.{}", place, *layer + 1, name);
  if (take(name, "normalization.")) return fmt::format("{}bn{}.{}", place, *layer + 1, name);
  return std::nullopt;
}

}  // namespace

std::optional<ResNetConfig> timm_resnet(std::string_view architecture) {
  const std::string_view name = architecture.substr(0, architecture.find('.'));
  const auto found = std::ranges::find(kArchitectures, name, &Architecture::name);
  if (found == std::end(kArchitectures)) return std::nullopt;
  ResNetConfig config;
  config.depths.assign(std::begin(found->depths), std::end(found->depths));
  if (found->basic) config.layer_type = "basic", config.hidden_sizes = {64, 128, 256, 512};
  return config;
}

std::string timm_resnet_name(std::string_view name) {
  std::string_view rest = name;
  if (take(rest, "embedder.embedder.convolution.")) return fmt::format("conv1.{}", rest);
  if (take(rest, "embedder.embedder.normalization.")) return fmt::format("bn1.{}", rest);
  const std::optional<std::string> block = block_name(name);
  check(block.has_value(), "resnet: a ResNet of timm has no '{}'", name);
  return *block;
}

}  // namespace attend::models
