// The settings attention_window and global_tokens of a config: how far the layers of a model look (Beltagy et al.
// 2020). attention_window counts the other tokens that a token sees, for all layers or for each: as many before it
// where it may not look ahead, half before and half behind where it may, as in Longformer's files. -1: all.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "attend/base/json_fwd.h"
#include "attend/tensor/attention_window.h"

namespace attend::models {

enum class AttentionDirection : std::uint8_t { causal, bidirectional };

struct WindowSettings {
  std::vector<std::int64_t> attention_window = {};  // none: all; one: of every layer; else one of each
  std::int64_t global_tokens = 0;

  bool operator==(const WindowSettings&) const = default;
  AttentionWindow of_layer(std::int64_t layer, AttentionDirection direction) const;
  // Of so many layers; empty where they see all.
  std::vector<AttentionWindow> of_layers(std::int64_t layers, AttentionDirection direction) const;
  // Throws Error naming what and the first value that is out of range.
  void check(std::string_view what, std::int64_t layers, AttentionDirection direction) const;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("attention_window", attention_window,
      "Local attention: number of other tokens each token attends to, one value or one per layer (64,64,256); "
      "-1 means full attention.");
    v("global_tokens", global_tokens, "With --attention-window: number of leading tokens with global attention.");
  }
  // Throws Error for a file's empty list: nobody means that.
  static void check_written(const Json& json, std::string_view what);
  // Files of models that see all do without both.
  void leave_out_of(Json& json) const;
};

}  // namespace attend::models
