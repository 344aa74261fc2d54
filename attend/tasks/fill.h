// What stands behind [MASK] (BERT, DistilBERT) or <mask> (RoBERTa) in a text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "attend/tasks/encoder_model.h"
#include "attend/tasks/results.h"

namespace attend::tasks {

class Filler {
 public:
  Filler(const std::filesystem::path& folder, Backend& backend, const nn::ModelFormat& format = {});
  ~Filler();

  // Throws Error naming the line that has no mask.
  std::vector<FilledLine> fill(std::span<const std::string> lines, const FillOptions& options = {}) const;
  // In two halves: one pass over texts, [masks, vocabulary] each, and what it says of one of them.
  std::vector<std::vector<float>> logits(EncoderBatch texts) const;
  FilledLine filled(std::vector<float> logits, std::int64_t top_k) const;
  // The line with its masks replaced by the likeliest tokens, the one numbered `mask` by choice.
  std::string complete(const std::string& line, const FilledLine& filled, std::size_t mask, std::size_t choice) const;

  const std::string& mask() const { return mask_; }
  const EncoderModel<models::MaskedLanguageModel>& encoder() const { return encoder_; }

 private:
  EncoderModel<models::MaskedLanguageModel> encoder_;
  std::string mask_;
  std::int32_t mask_id_ = 0;
};

}  // namespace attend::tasks
