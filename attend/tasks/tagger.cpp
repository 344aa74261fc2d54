#include "attend/tasks/tagger.h"

#include "attend/base/ranking.h"
#include "attend/base/unicode/unicode.h"

namespace attend::tasks {

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
  const std::vector<std::string>& labels = encoder_.config().labels;
  std::vector<TaggedLine> results(lines.size());
  in_batches(texts, batching.batch, [&](EncoderBatch batch, std::span<const std::size_t> indices) {
    Pass pass(encoder_.backend());
    const models::BertInput input = reader.pack(batch, encoder_.backend()).in(pass);
    std::vector<float> logits = download(encoder_.model().logits(encoder_.model().body().states(input)));
    std::size_t row = 0;
    for (std::size_t i = 0; i < batch.size(); row += batch[i++]->ids.size()) {
      const EncoderText& text = *batch[i];
      TaggedLine& line = results[indices[i]];
      for (std::size_t token = text.first.begin; token < text.first.end; ++token) {
        if (!line.empty() && reader.continues_word(text, token)) {
          line.back().span.end = text.offsets[token].end;
          continue;
        }
        const auto values = std::span(logits).subspan((row + token) * labels.size(), labels.size());
        softmax(values);
        const std::size_t best = largest(values, 1).front();
        line.push_back({{}, text.offsets[token], labels[best], values[best]});
      }
      for (TaggedWord& word : line) word.word = characters_of(mended[indices[i]], word.span);
    }
  });
  return results;
}

}  // namespace attend::tasks
