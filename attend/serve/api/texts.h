// Texts on their way to an encoder and back, for every adapter that has them: read, cut or refused, computed in
// whatever batch the queue makes, with the times that went by.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attend/serve/api/api_adapter.h"

namespace attend::serve {

struct TextTimes {
  double tokenization = 0;
  QueueTimes queue = {};
  std::int64_t tokens = 0, characters = 0;
};

struct TextOptions {
  bool truncate = false;                        // else a text that is too long is refused with 413
  std::optional<bool> normalize = {};           // vectors to length 1; else as the model's modules.json says
  std::optional<std::string> prompt_name = {};  // of the model's prompts, in front of texts to embed; else its default
};

// A text or a pair as the model reads it. Whoever makes one keeps the texts.
struct TextPair {
  std::string_view first;
  std::optional<std::string_view> second = {};
};
std::vector<TextPair> alone(std::span<const std::string> texts);

// A string that is UTF-8, or a refusal that names what it is.
std::string text_of(const Json& value, const char* name);
// A string, or a list of strings.
std::vector<std::string> texts_of(const Json& value, const char* name);
// The same, no more than a request may have.
std::vector<std::string> texts_of(const Work& work, const Json& value, const char* name);

// A text as tokens, when it is this request's turn.
tasks::EncoderText read_text(const Work& work, const ServedModel& model, const TextPair& text,
                             const TextOptions& options, TextTimes& times);

// Computes texts a slice at a time, so that what is read and what is computed of many takes no more memory than of
// some, and others come in between. use() gets the results of each slice, in order, of a queue that makes so many
// numbers of a token.
using UseResults = std::function<void(std::span<std::vector<float>> results)>;
void compute_texts(const Work& work, const ServedModel& model, ServedModel::TextQueue& queue, std::size_t numbers,
                   std::span<const TextPair> texts, const TextOptions& options, TextTimes& times,
                   const UseResults& use);
// One vector a text.
std::vector<std::vector<float>> embed_texts(const Work& work, const ServedModel& model,
                                            std::span<const std::string> texts, const TextOptions& options,
                                            TextTimes& times);
// The head's logits of each.
std::vector<std::vector<float>> classify_texts(const Work& work, const ServedModel& model,
                                               std::span<const TextPair> texts, const TextOptions& options,
                                               TextTimes& times);

// Sentences, best translations first; none of a blank one.
std::vector<std::vector<tasks::Translation>> translate_sentences(const Work& work, TranslationQueue& queue,
                                                                 const std::vector<std::string>& sentences,
                                                                 const tasks::TranslateOptions& options);

inline bool embeds(const ServedModel& model) { return model.states != nullptr; }
inline bool classifies(const ServedModel& model) { return model.classifier != nullptr; }

}  // namespace attend::serve
