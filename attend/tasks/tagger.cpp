#include "attend/tasks/tagger.h"

#include "attend/base/ranking.h"
#include "attend/base/unicode/unicode.h"

namespace attend::tasks {

Tagger::~Tagger() = default;

Tagger::Tagger(const std::filesystem::path& folder, Backend& backend, const nn::ModelFormat& format)
    : encoder_(folder, "tag", catalogue::Task::tag, backend, format) {}

std::vector<TaggedLine> Tagger::tag(std::span<const std::string> lines, const EncoderBatching& batching) const {
  const EncoderReader& reader = encoder_.reader();
  std::vector<EncoderText> texts;
  std::vector<std::string> mended;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    texts.push_back(reader.read(lines[i], batching.first_line + static_cast<std::int64_t>(i), batching));
    mended.push_back(replace_invalid_utf8(lines[i]));  // what the offsets count in
  }
  std::vector<TaggedLine> results(lines.size());
  in_batches(texts, batching.batch, [&](EncoderBatch batch, std::span<const std::size_t> indices) {
    std::vector<std::vector<float>> values = logits(batch);
    for (std::size_t i = 0; i < batch.size(); ++i)
      results[indices[i]] = tagged(*batch[i], std::move(values[i]), mended[indices[i]]);
  });
  return results;
}

std::vector<std::vector<float>> Tagger::logits(EncoderBatch texts) const {
  Pass pass(encoder_.backend());
  const models::BertInput input = encoder_.reader().pack(texts, encoder_.backend()).in(pass);
  return by_text(download(encoder_.model().logits(encoder_.model().body().states(input))), texts,
                 encoder_.config().labels.size());
}

TaggedLine Tagger::tagged(const EncoderText& text, std::vector<float> logits, std::string_view line) const {
  const std::vector<std::string>& labels = encoder_.config().labels;
  TaggedLine words;
  for (std::size_t token = text.first.begin; token < text.first.end; ++token) {
    if (!words.empty() && encoder_.reader().continues_word(text, token)) {
      words.back().span.end = text.offsets[token].end;
      continue;
    }
    const auto values = std::span(logits).subspan(token * labels.size(), labels.size());
    softmax(values);
    const std::size_t best = largest(values, 1).front();
    words.push_back({{}, text.offsets[token], labels[best], values[best]});
  }
  for (TaggedWord& word : words) word.word = characters_of(line, word.span);
  return words;
}

}  // namespace attend::tasks
