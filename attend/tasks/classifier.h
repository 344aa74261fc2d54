// A label, or a number, for each text or pair of texts, by a model of BERT's family or GPT-2.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attend/tasks/head.h"
#include "attend/tasks/results.h"

namespace attend::tasks {

class Classifier {
 public:
  Classifier(const std::filesystem::path& folder, Backend& backend, const nn::ModelFormat& format = {});
  ~Classifier();

  // A line with a tab in it is a pair.
  std::vector<Classified> classify(std::span<const std::string> lines, const ClassifyOptions& options = {}) const;

  // In two halves, for whoever makes batches of texts by other rules (attend serve): one pass over texts, [labels]
  // each, and what it says of one of them.
  std::vector<std::vector<float>> logits(EncoderBatch texts) const;
  Classified classified(std::vector<float> logits, std::int64_t top_k) const;

  models::ProblemType problem() const { return head_->problem(); }
  bool regression() const { return head_->regression() && labels().size() == 1; }  // one number instead of labels
  const std::vector<std::string>& labels() const { return head_->labels(); }
  const EncoderReader& reader() const { return reader_; }

 private:
  Classifier(const std::filesystem::path& folder, const catalogue::ModelConfig& config, Backend& backend,
             const nn::ModelFormat& format);

  Backend& backend_;
  std::unique_ptr<Head> head_;
  EncoderReader reader_;
  nn::Parameters parameters_;
};

}  // namespace attend::tasks
