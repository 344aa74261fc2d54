// A vector for each text: the mean of its tokens' states, the largest of each column, or the first token's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "attend/tasks/encoder_model.h"

namespace attend::tasks {

enum class Pooling : std::uint8_t { mean, cls, max };

struct EmbedOptions {
  Pooling pooling = Pooling::mean;
  bool normalize = false;  // to length 1
  EncoderBatching batching = {};
};

// The model without its head, whatever head the folder has.
class EncoderBody {
 public:
  explicit EncoderBody(const models::BertConfig& config) : bert_(config, models::Bert::Pooler::without) {}
  const models::Bert& body() const { return bert_; }
  template <class Visitor>
  void visit(Visitor&& v) {
    bert_.visit(v);
  }

 private:
  models::Bert bert_;
};

// One vector from the states of a text's tokens, [tokens, width].
std::vector<float> pooled(std::span<const float> states, std::size_t width, const EmbedOptions& options);

class Embedder {
 public:
  Embedder(const std::filesystem::path& folder, Backend& backend, const nn::ModelFormat& format = {});

  std::int64_t width() const { return encoder_.config().width; }
  // One vector a line.
  std::vector<std::vector<float>> embed(std::span<const std::string> lines, const EmbedOptions& options = {}) const;

  const EncoderModel<EncoderBody>& encoder() const { return encoder_; }

 private:
  EncoderModel<EncoderBody> encoder_;
};

// To length 1; 0 stays 0.
void normalize(std::span<float> vector);

// The cosine of the angle between two vectors; 0 when one is 0.
double cosine(std::span<const float> a, std::span<const float> b);

// f32 [rows, columns] as NumPy's format 1.0 has it.
std::string npy_of(std::span<const std::vector<float>> rows, std::int64_t columns);

}  // namespace attend::tasks
