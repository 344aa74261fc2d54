// The ranges a model's settings must lie in, whoever wrote them: an untrusted file, a flag or our own code. Each
// config has one check_config(config, what) made of these; what opens the message: the file, or the model's name.
#pragma once

#include <cstdint>
#include <string_view>

namespace attend::models {

// All throw Error naming what, the setting, its value and what it may be.
void check_within(std::string_view what, std::string_view name, std::int64_t value, std::int64_t least,
                  std::int64_t most);
// The same where the most is one of attend/base/limits.h, which the message says.
void check_limited(std::string_view what, std::string_view name, std::int64_t value, std::int64_t least,
                   std::int64_t most);
// Heads must cut the width into parts that attention takes: multiples of 8.
void check_heads(std::string_view what, std::int64_t width, std::int64_t heads);
void check_rate(std::string_view what, std::string_view name, float rate);  // of dropout: at least 0, below 1
void check_positive(std::string_view what, std::string_view name, float value);
// A token: -1 stands for none. It may lie beyond the vocabulary, as the defaults of small models do: whoever looks one
// up asks check_token_used().
void check_token(std::string_view what, std::string_view name, std::int64_t id);
void check_token_used(std::string_view what, std::string_view name, std::int64_t id, std::int64_t vocabulary);

// What the settings of a Transformer ask for together; each must be within its own range already.
struct ModelSize {
  std::int64_t rows = 0;  // of tables, [rows, width]
  std::int64_t width = 0;
  std::int64_t layers = 0;  // each of `attentions` times four [width, width] and two [width, hidden]
  std::int64_t hidden = 0;
  std::int64_t attentions = 1;
  std::int64_t parameters() const { return rows * width + layers * (4 * attentions * width + 2 * hidden) * width; }
};
void check_size(std::string_view what, std::int64_t parameters);

}  // namespace attend::models
