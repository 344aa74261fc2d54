#include "attend/tasks/classifier.h"

namespace attend::tasks {

namespace {

constexpr std::string_view kHeads[] = {"ForSequenceClassification"};

}  // namespace

Classifier::Classifier(const std::filesystem::path& folder, Backend& backend, const nn::ModelFormat& format)
    : encoder_(folder, "classify", kHeads, backend, format) {}

std::vector<Classified> Classifier::classify(std::span<const std::string> lines, const ClassifyOptions& options) const {
  const EncoderReader& reader = encoder_.reader();
  std::vector<EncoderText> texts;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::int64_t number = options.batching.first_line + static_cast<std::int64_t>(i);
    const std::string_view line = lines[i];
    const std::size_t tab = line.find('\t');
    texts.push_back(tab == std::string_view::npos
                        ? reader.read(line, number, options.batching)
                        : reader.read(line.substr(0, tab), line.substr(tab + 1), number, options.batching));
  }
  const std::vector<std::string>& labels = reader.config().labels;
  const std::int64_t count = options.top_k > 0 ? options.top_k : static_cast<std::int64_t>(labels.size());
  std::vector<Classified> results(lines.size());
  in_batches(texts, options.batching.batch, [&](EncoderBatch batch, std::span<const std::size_t> indices) {
    Pass pass(encoder_.backend());
    const models::BertInput input = reader.pack(batch, encoder_.backend()).in(pass);
    std::vector<float> logits =
        download(encoder_.model().logits(encoder_.model().body().states(input), input.texts));  // [B, labels]
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const auto values = std::span(logits).subspan(i * labels.size(), labels.size());
      Classified& result = results[indices[i]];
      if (regression()) {
        result.number = values[0];
        continue;
      }
      softmax(values);
      for (std::size_t label : largest(values, count)) result.labels.push_back({labels[label], values[label]});
    }
  });
  return results;
}

}  // namespace attend::tasks
