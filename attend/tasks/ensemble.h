// Several translators that decode together: at every step the probabilities of their next tokens are averaged
// (Sutskever et al. 2014; fairseq and Marian do the same). They share a tokenizer and differ in all else.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "attend/models/seq2seq.h"
#include "attend/tasks/translator.h"

namespace attend::tasks {

// The members as one model for searches. It is not trained and shows no attention: there are as many as members.
class Ensemble final : public models::Seq2Seq {
 public:
  explicit Ensemble(std::vector<const models::Seq2Seq*> members);

  std::int64_t vocabulary() const override { return members_.front()->vocabulary(); }
  std::int64_t max_length() const override;  // of the member that reads least
  bool takes_packed() const override { return false; }
  Json config() const override;
  void place(Backend& backend, DType dtype) override;
  std::vector<nn::Parameters::Entry> parameters() override { return {}; }
  models::Encoded encode(const nn::Sequences& source) const override;
  Tensor decode(const models::Encoded& memory, const nn::Sequences& target) const override;
  ops::Loss loss(const Tensor& decoded, const Tensor& labels, const models::Seq2SeqLossOptions& options) const override;
  std::unique_ptr<nn::StepModel> start(Pass& pass, const models::Encoded& memory, std::int64_t group) const override;
  std::unique_ptr<nn::StepModel> start(Pass& pass, const nn::Sequences& source, std::int64_t group) const override;
  std::string alignment_label() const override { return ""; }

 private:
  std::vector<const models::Seq2Seq*> members_;
};

// Translators read from folders: one as it is, several as an ensemble.
class LoadedTranslators {
 public:
  // Throws Error naming two folders whose tokenizers differ. backend must outlive it.
  LoadedTranslators(const std::vector<std::filesystem::path>& folders, Backend& backend, const nn::ModelFormat& format);
  ~LoadedTranslators();

  const models::Seq2Seq& model() const;
  const Translator& translator() const;

 private:
  std::vector<std::unique_ptr<LoadedTranslator>> members_;
  std::unique_ptr<Ensemble> ensemble_;      // none of a single member
  std::unique_ptr<Translator> translator_;  // its
};

}  // namespace attend::tasks
