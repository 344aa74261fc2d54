// How relevant documents are for a query: a cross-encoder (Nogueira & Cho 2019) reads both together, and its head
// answers one number.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/json_fwd.h"
#include "attend/tasks/classifier.h"

namespace attend::tasks {

// What becomes of the head's logits: as sentence-transformers' CrossEncoder, the activation that config.json names
// ("sentence_transformers": {"activation_fn"} or "sbert_ce_default_activation_function"), or a sigmoid. Of a head with
// two labels it is the probability of the second.
class RelevanceScore {
 public:
  // Throws Error for a head with more labels, and for an activation that is not known.
  RelevanceScore(const Json& config, std::size_t labels, std::string_view what);
  float operator()(std::vector<float> logits) const;
  // Whether a head with so many labels is one.
  static bool fits(std::size_t labels) { return labels == 1 || labels == 2; }

 private:
  bool sigmoid_ = true;
};

class Reranker {
 public:
  Reranker(const std::filesystem::path& folder, Backend& backend, const nn::ModelFormat& format = {});

  // One score a document, in their order. raw: the head's logit itself.
  std::vector<float> scores(const std::string& query, std::span<const std::string> documents, bool raw = false,
                            const EncoderBatching& batching = {}) const;

 private:
  Classifier classifier_;
  RelevanceScore score_;
};

}  // namespace attend::tasks
