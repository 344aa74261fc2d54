#include "attend/tasks/classifier.h"

#include "attend/base/error.h"
#include "attend/tasks/label_scores.h"

namespace attend::tasks {

Classifier::~Classifier() = default;

Classifier::Classifier(const std::filesystem::path& folder, Backend& backend, const nn::ModelFormat& format)
    : Classifier(folder, catalogue::read_config(folder, catalogue::Task::classify), backend, format) {}

Classifier::Classifier(const std::filesystem::path& folder, const catalogue::ModelConfig& config, Backend& backend,
                       const nn::ModelFormat& format)
    : backend_(backend),
      head_(make_head(config, catalogue::Task::classify)),
      reader_(folder, "classify", head_->texts()),
      parameters_(backend, head_->parameters(), checkpoint::run_options(folder, format)) {
  checkpoint::load_hugging_face(checkpoint::TensorFiles::open(folder), parameters_,
                                {.prefix = std::string(config.entry->prefix)});
}

std::vector<Classified> Classifier::classify(std::span<const std::string> lines, const ClassifyOptions& options) const {
  check(options.top_k >= 0, "classify: top-k must be 0 (all) or more, not {}", options.top_k);
  std::vector<EncoderText> texts;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::int64_t number = options.batching.first_line + static_cast<std::int64_t>(i);
    const std::string_view line = lines[i];
    const std::size_t tab = line.find('\t');
    texts.push_back(tab == std::string_view::npos
                        ? reader_.read(line, number, options.batching)
                        : reader_.read(line.substr(0, tab), line.substr(tab + 1), number, options.batching));
  }
  std::vector<Classified> results(lines.size());
  in_batches(texts, options.batching.batch, [&](EncoderBatch batch, std::span<const std::size_t> indices) {
    std::vector<std::vector<float>> values = logits(batch);
    for (std::size_t i = 0; i < batch.size(); ++i)
      results[indices[i]] = classified(std::move(values[i]), options.top_k);
  });
  return results;
}

std::vector<std::vector<float>> Classifier::logits(EncoderBatch texts) const {
  Pass pass(backend_);
  const std::vector<float> all = download(head_->logits(pack_once(reader_, texts, backend_).in(pass)));  // [B, labels]
  const std::size_t width = all.size() / texts.size();
  std::vector<std::vector<float>> result;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto own = std::span(all).subspan(i * width, width);
    result.emplace_back(own.begin(), own.end());
  }
  return result;
}

Classified Classifier::classified(std::vector<float> values, std::int64_t top_k) const {
  return label_scores(std::move(values), labels(), problem(), top_k);
}

}  // namespace attend::tasks
