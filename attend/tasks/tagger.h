// A label for every word of a text: names, parts of speech.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "attend/tasks/encoder_model.h"

namespace attend::tasks {

struct TaggedWord {
  std::string word;  // characters [span.begin, span.end) of the line
  Span span;
  std::string label;
  float probability = 0;
};
using TaggedLine = std::vector<TaggedWord>;

class Tagger {
 public:
  Tagger(const std::filesystem::path& folder, Backend& backend, const nn::ModelFormat& format = {});

  // A word of several tokens has the label of its first, which is the one such models are trained on.
  std::vector<TaggedLine> tag(std::span<const std::string> lines, const EncoderBatching& batching = {}) const;

  const EncoderModel<models::TokenTagger>& encoder() const { return encoder_; }

 private:
  EncoderModel<models::TokenTagger> encoder_;
};

}  // namespace attend::tasks
