// The settings attention_window and global_tokens of a config: how far the layers of a model attend (Beltagy et al.
// 2020, section 3.1). attention_window counts the other tokens that a token attends to, for all layers or for each. A
// causal model counts only tokens before it; otherwise half lie before and half after, as in Longformer's files. -1
// means all.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "attend/base/json_fwd.h"
#include "attend/tensor/attention_window.h"

namespace attend::models {

enum class AttentionDirection : std::uint8_t { causal, bidirectional };

struct WindowSettings {
  std::vector<std::int64_t> attention_window = {};  // empty: all tokens; one number: every layer; else one per layer
  std::int64_t global_tokens = 0;

  bool operator==(const WindowSettings&) const = default;
  // The window of one layer, as the attention kernels read it.
  AttentionWindow of_layer(std::int64_t layer, AttentionDirection direction) const;
  // Windows of the first `layers` layers; empty if they attend to all tokens.
  std::vector<AttentionWindow> of_layers(std::int64_t layers, AttentionDirection direction) const;
  // Throws Error naming what and the first value that is out of range.
  void check(std::string_view what, std::int64_t layers, AttentionDirection direction) const;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("attention_window", attention_window,
      "how many other tokens a token sees: one number, or one for each layer as 64,64,256; -1: all");
    v("global_tokens", global_tokens, "with attention_window: the first so many tokens see all and are seen by all");
  }
  // Throws Error for an empty list in a file, which is most likely a mistake.
  static void check_written(const Json& json, std::string_view what);
  // Removes both settings from the files of models that attend to all tokens.
  void leave_out_of(Json& json) const;
};

}  // namespace attend::models
