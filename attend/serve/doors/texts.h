// Texts on their way to an encoder and back, for every door that has them: read, cut or refused, computed in whatever
// batch the queue makes, with the times that went by.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attend/serve/door.h"

namespace attend::serve {

struct TextTimes {
  double tokenization = 0;
  serving::QueueTimes queue = {};
  std::int64_t tokens = 0, characters = 0;
};

struct TextOptions {
  bool truncate = false;                        // else a text that is too long is refused with 413
  std::optional<bool> normalize = {};           // vectors to length 1; else as the model's modules.json says
  std::optional<std::string> prompt_name = {};  // of the model's prompts, in front of texts to embed; else its default
};

// A text or a pair as the model reads it.
struct TextPair {
  std::string first;
  std::optional<std::string> second = {};
};

// A string that is UTF-8, or a refusal that names what it is.
std::string text_of(const Json& value, const char* name);
// A string, or a list of strings.
std::vector<std::string> texts_of(const Json& value, const char* name);

std::vector<tasks::EncoderText> read_texts(const serving::ServedModel& model, std::span<const TextPair> texts,
                                           const TextOptions& options, TextTimes& times);
// One vector a text.
std::vector<std::vector<float>> embed_texts(const serving::ServedModel& model, std::span<const std::string> texts,
                                            const TextOptions& options, TextTimes& times);
// The head's logits of each.
std::vector<std::vector<float>> classify_texts(const serving::ServedModel& model, std::span<const TextPair> texts,
                                               const TextOptions& options, TextTimes& times);

inline bool embeds(const serving::ServedModel& model) { return model.states != nullptr; }
inline bool classifies(const serving::ServedModel& model) { return model.classifier != nullptr; }

}  // namespace attend::serve
