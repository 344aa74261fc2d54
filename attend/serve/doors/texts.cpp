#include "attend/serve/doors/texts.h"

#include <fmt/core.h>

#include <chrono>

#include "attend/base/error.h"
#include "attend/base/unicode/unicode.h"

namespace attend::serve {

std::string text_of(const Json& value, const char* name) {
  check(value.is_string(), "'{}' must be a string", name);
  return value.text();
}

std::vector<std::string> texts_of(const Json& value, const char* name) {
  if (value.is_string()) return {value.text()};
  check(value.is_array(), "'{}' must be a string or a list of strings", name);
  std::vector<std::string> texts;
  for (const Json& item : value) {
    check(item.is_string(), "'{}' must be a string or a list of strings", name);
    texts.push_back(item.text());
  }
  return texts;
}

std::vector<tasks::EncoderText> read_texts(const serving::ServedModel& model, std::span<const TextPair> texts,
                                           const TextOptions& options, TextTimes& times) {
  const auto begin = std::chrono::steady_clock::now();
  const tasks::EncoderReader& reader = *model.reader();
  const auto most = static_cast<std::size_t>(reader.longest());
  std::vector<tasks::EncoderText> read;
  for (const auto& [first, second] : texts) {
    if (options.truncate) {
      read.push_back(second ? reader.read(first, *second, 1, {}) : reader.read(first, 1, {}));
    } else {
      const std::string one = replace_invalid_utf8(first);
      tasks::EncoderText text = second ? reader.read_all(one, replace_invalid_utf8(*second)) : reader.read_all(one);
      if (text.ids.size() > most)
        refuse(413, fmt::format("`inputs` must have less than {} tokens. Given: {}", most, text.ids.size()),
               "Validation");
      read.push_back(text.ids.empty() ? reader.read(one, 1, {}) : std::move(text));
    }
    times.tokens += static_cast<std::int64_t>(read.back().ids.size());
    times.characters += static_cast<std::int64_t>(first.size() + (second ? second->size() : 0));
  }
  times.tokenization = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return read;
}

std::vector<std::vector<float>> embed_texts(const serving::ServedModel& model, std::span<const std::string> texts,
                                            const TextOptions& options, TextTimes& times) {
  const tasks::SentenceModules& modules = *model.modules();
  const std::string prompt = modules.prompt(options.prompt_name);
  const std::size_t skipped = modules.skipped_tokens(*model.reader(), prompt);
  std::vector<TextPair> alone;
  for (const std::string& text : texts) alone.push_back({modules.prepared(text, prompt)});
  const std::vector<tasks::EncoderText> read = read_texts(model, alone, options, times);
  std::vector<std::vector<float>> vectors;
  for (const std::vector<float>& states : model.states->run(read, &times.queue))
    vectors.push_back(modules(states, {.pooling = model.pooling(), .normalize = options.normalize}, skipped));
  return vectors;
}

std::vector<std::vector<float>> classify_texts(const serving::ServedModel& model, std::span<const TextPair> texts,
                                               const TextOptions& options, TextTimes& times) {
  const std::vector<tasks::EncoderText> read = read_texts(model, texts, options, times);
  return model.logits->run(read, &times.queue);
}

}  // namespace attend::serve
