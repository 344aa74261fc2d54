#include "attend/tasks/reranker.h"

#include <cmath>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/base/ranking.h"

namespace attend::tasks {

namespace {

// The class that CrossEncoder would apply; null: none is named.
const Json* named_activation(const Json& config) {
  const auto settings = config.find("sentence_transformers");
  if (settings != config.end() && settings->is_object()) {
    const auto named = settings->find("activation_fn");
    if (named != settings->end() && !named->is_null()) return named;
  }
  const auto older = config.find("sbert_ce_default_activation_function");
  return older == config.end() || older->is_null() ? nullptr : older;
}

}  // namespace

RelevanceScore::RelevanceScore(const Json& config, std::size_t labels, std::string_view what) {
  check(fits(labels), "{}: a model that scores a pair has 1 label (or 2), not {}; attend classify gives labels", what,
        labels);
  const Json* named = named_activation(config);
  if (!named) return;
  const std::string name = named->is_string() ? named->get<std::string>() : named->dump();
  sigmoid_ = name.ends_with(".Sigmoid");
  check(sigmoid_ || name.ends_with(".Identity"),
        "{}: the activation of the cross-encoder is '{}'; Sigmoid and Identity are known", what, name);
}

float RelevanceScore::operator()(std::vector<float> logits) const {
  if (logits.size() > 1) {
    softmax(logits);
    return logits.back();
  }
  return sigmoid_ ? 1 / (1 + std::exp(-logits.at(0))) : logits.at(0);
}

Reranker::Reranker(const std::filesystem::path& folder, Backend& backend, const nn::ModelFormat& format)
    : classifier_(folder, backend, format),
      score_(read_json(folder / "config.json"), classifier_.labels().size(), (folder / "config.json").string()) {}

std::vector<float> Reranker::scores(const std::string& query, std::span<const std::string> documents, bool raw,
                                    const EncoderBatching& batching) const {
  const EncoderReader& reader = classifier_.reader();
  std::vector<EncoderText> pairs;
  for (std::size_t i = 0; i < documents.size(); ++i)
    pairs.push_back(reader.read(query, documents[i], batching.first_line + static_cast<std::int64_t>(i), batching));
  std::vector<float> scores(documents.size());
  in_batches(pairs, batching.batch, [&](EncoderBatch batch, std::span<const std::size_t> indices) {
    const std::vector<std::vector<float>> logits = classifier_.logits(batch);
    for (std::size_t i = 0; i < batch.size(); ++i) scores[indices[i]] = raw ? logits[i].back() : score_(logits[i]);
  });
  return scores;
}

}  // namespace attend::tasks
