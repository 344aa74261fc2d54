#include "attend/serve/api/texts.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/unicode/unicode.h"

namespace attend::serve {

namespace {

// Bytes that reading a text takes for a byte of it, at most: a token of one letter, with its text and place, as read,
// as cut, and in between.
constexpr std::size_t kReadingCost = 128;
// and those of a token that is kept until it is computed
constexpr std::size_t kTokenCost = 64;
constexpr std::int64_t kBatchesOfSlice = 4;  // so that few batches are made up of what is left of a slice

// A vector as numbers, as text of JSON, and as that on its way to the client.
constexpr std::size_t kAnsweredNumber = 2 * sizeof(float) + 2 * 16;

// As much of a text as the model can read, and some more: reading megabytes to keep 512 tokens would take the time of
// many requests. Words are read alike whatever is behind them, so what is cut at a blank and still has more tokens than
// that is as good as the whole.
std::string_view enough_of(const tasks::EncoderReader& reader, std::string_view text) {
  constexpr std::size_t kBytes = 32, kLeast = 16384;  // bytes of a token, and of a text worth cutting
  const auto most = static_cast<std::size_t>(reader.longest());
  for (std::size_t size = std::max(kBytes * most, kLeast); size < text.size(); size *= 2) {
    const std::size_t end = text.rfind(' ', size);
    if (end == std::string_view::npos || 2 * end < size) continue;
    const std::string part = replace_invalid_utf8(text.substr(0, end));
    const text::EncodeOptions bare{.add_special_tokens = false, .truncate = false, .pad = false};
    if (reader.tokenizer().encode_ids(part, bare).size() > most + 16) return text.substr(0, end);
  }
  return text;
}

}  // namespace

std::vector<TextPair> alone(std::span<const std::string> texts) {
  std::vector<TextPair> pairs;
  for (const std::string& text : texts) pairs.push_back({text});
  return pairs;
}

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

std::vector<std::string> texts_of(const Work& work, const Json& value, const char* name) {
  if (value.is_array()) work.check_batch(value.size());
  return texts_of(value, name);
}

tasks::EncoderText read_text(const Work& work, const ServedModel& model, const TextPair& text,
                             const TextOptions& options, TextTimes& times) {
  const std::size_t bytes = text.first.size() + (text.second ? text.second->size() : 0);
  const Charged reading(*work.exchange, kReadingCost * bytes);
  const tasks::EncoderReader& reader = *model.reader();
  const auto most = static_cast<std::size_t>(reader.longest());
  return work.piece(bytes, [&] {
    const auto begin = std::chrono::steady_clock::now();
    const std::string_view first = enough_of(reader, text.first);
    const std::string_view second = text.second ? enough_of(reader, *text.second) : std::string_view();
    const bool whole = first.size() + second.size() == bytes;
    tasks::EncoderText read = text.second ? reader.read(first, second, 1, {}) : reader.read(first, 1, {});
    const std::size_t given = read.ids.size() + read.cut;
    if (!options.truncate && given > most)
      refuse(413,
             fmt::format("`inputs` must have less than {} tokens. Given: {}{}", most, whole ? "" : "more than ", given),
             "Validation");
    times.tokens += static_cast<std::int64_t>(read.ids.size());
    times.characters += static_cast<std::int64_t>(bytes);
    times.tokenization += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return read;
  });
}

void compute_texts(const Work& work, const ServedModel& model, ServedModel::TextQueue& queue, std::size_t numbers,
                   std::span<const TextPair> texts, const TextOptions& options, TextTimes& times,
                   const UseResults& use) {
  for (std::size_t at = 0; at < texts.size();) {
    Charged charged(*work.exchange, 0);
    std::vector<tasks::EncoderText> read;
    for (std::int64_t tokens = 0; at < texts.size() && tokens < kBatchesOfSlice * work.context.max_batch_tokens; ++at) {
      read.push_back(read_text(work, model, texts[at], options, times));
      const std::size_t own = read.back().ids.size();
      charged.more(own * (kTokenCost + numbers * sizeof(float)));
      tokens += static_cast<std::int64_t>(own);
    }
    std::vector<std::vector<float>> results = queue.run(read, work.stop, &times.queue);
    use(results);
  }
}

std::vector<std::vector<float>> embed_texts(const Work& work, const ServedModel& model,
                                            std::span<const std::string> texts, const TextOptions& options,
                                            TextTimes& times) {
  const tasks::SentenceModules& modules = *model.modules();
  const std::string prompt = modules.prompt(options.prompt_name);
  const std::size_t skipped = modules.skipped_tokens(*model.reader(), prompt);
  const auto width = static_cast<std::size_t>(model.state_width());
  std::size_t bytes = 0;
  for (const std::string& text : texts) bytes += text.size() + prompt.size();
  const Charged copies(*work.exchange, bytes);
  charge(*work.exchange, texts.size() * static_cast<std::size_t>(modules.width()) * kAnsweredNumber);
  std::vector<std::string> prepared;
  for (const std::string& text : texts) prepared.push_back(modules.prepared(text, prompt));
  std::vector<std::vector<float>> vectors;
  compute_texts(
      work, model, *model.states, width, alone(prepared), options, times, [&](std::span<std::vector<float>> results) {
        for (const std::vector<float>& states : results)
          vectors.push_back(modules(states, {.pooling = model.pooling(), .normalize = options.normalize}, skipped));
      });
  return vectors;
}

std::vector<std::vector<float>> classify_texts(const Work& work, const ServedModel& model,
                                               std::span<const TextPair> texts, const TextOptions& options,
                                               TextTimes& times) {
  std::vector<std::vector<float>> logits;
  compute_texts(work, model, *model.logits, 0, texts, options, times, [&](std::span<std::vector<float>> results) {
    for (std::vector<float>& one : results) logits.push_back(std::move(one));
  });
  return logits;
}

std::vector<std::vector<tasks::Translation>> translate_sentences(const Work& work, TranslationQueue& queue,
                                                                 const std::vector<std::string>& sentences,
                                                                 const tasks::TranslateOptions& options) {
  constexpr std::size_t kSentence = 1024, kVersion = 256, kLetter = 16;
  std::size_t bytes = 0;
  for (const std::string& sentence : sentences) {
    const std::size_t tokens = std::min<std::size_t>(sentence.size(), 512);
    std::size_t version = kVersion + kLetter * sentence.size();
    if (options.attention) version += sizeof(float) * tokens * tokens;
    bytes += kSentence + static_cast<std::size_t>(options.n_best) * version;
  }
  charge(*work.exchange, bytes);
  std::vector<std::vector<std::int32_t>> read;
  for (const std::string& sentence : sentences) {
    const Charged reading(*work.exchange, kReadingCost * sentence.size());
    auto tokens = work.piece(sentence.size(), [&] { return queue.translator().translator.tokens_of(sentence); });
    read.push_back(tokens ? std::move(*tokens) : std::vector<std::int32_t>());
  }
  return queue.run(std::move(read), options, work.stop);
}

}  // namespace attend::serve
