// The allowed ranges of a model's settings, whether they come from an untrusted file, a flag or our own code. Each
// config has one check_config(config, what) made of these. `what` opens the message: the file, or the model's name.
#pragma once

#include <cstdint>
#include <string_view>

namespace attend::models {

// All throw Error with `what`, the setting, its value and the allowed range.
void check_within(std::string_view what, std::string_view name, std::int64_t value, std::int64_t least,
                  std::int64_t most);
// The same for a maximum from attend/base/limits.h, which the message then names.
void check_limited(std::string_view what, std::string_view name, std::int64_t value, std::int64_t least,
                   std::int64_t most);
// Heads must divide the width into parts that the attention kernels support: multiples of 8.
void check_heads(std::string_view what, std::int64_t width, std::int64_t heads);
void check_rate(std::string_view what, std::string_view name, float rate);  // a dropout rate is at least 0 and below 1
void check_positive(std::string_view what, std::string_view name, float value);
// A token id; -1 means none. It may lie beyond the vocabulary, as the defaults of small models do. Code that looks a
// token up calls check_token_used().
void check_token(std::string_view what, std::string_view name, std::int64_t id);
void check_token_used(std::string_view what, std::string_view name, std::int64_t id, std::int64_t vocabulary);

// The number of parameters that the settings of a Transformer imply. Each setting must be in its own range already.
struct ModelSize {
  std::int64_t rows = 0;  // rows of all tables, each [rows, width]
  std::int64_t width = 0;
  std::int64_t layers = 0;  // each has 4 · attentions weights [width, width] and two [width, hidden]
  std::int64_t hidden = 0;
  std::int64_t attentions = 1;
  std::int64_t parameters() const { return rows * width + layers * (4 * attentions * width + 2 * hidden) * width; }
};
void check_size(std::string_view what, std::int64_t parameters);

}  // namespace attend::models
