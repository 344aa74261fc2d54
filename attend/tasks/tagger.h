// A label for every word of a text: names, parts of speech.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "attend/tasks/encoder_model.h"
#include "attend/tasks/results.h"

namespace attend::tasks {

class Tagger {
 public:
  Tagger(const std::filesystem::path& folder, Backend& backend, const nn::ModelFormat& format = {});
  ~Tagger();

  // A word of several tokens has the label of its first, which is the one such models are trained on.
  std::vector<TaggedLine> tag(std::span<const std::string> lines, const EncoderBatching& batching = {}) const;

  // In two halves: one pass over texts, [tokens, labels] each, and what it says of one of them, the tokens of a line of
  // well-formed UTF-8.
  std::vector<std::vector<float>> logits(EncoderBatch texts) const;
  TaggedLine tagged(const EncoderText& text, std::vector<float> logits, std::string_view line) const;

  const EncoderModel<models::TokenTagger>& encoder() const { return encoder_; }

 private:
  EncoderModel<models::TokenTagger> encoder_;
};

}  // namespace attend::tasks
