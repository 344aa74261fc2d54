// A vector for each text, as the folder's sentence-transformers modules say, or as the caller wants it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attend/tasks/encoder_model.h"
#include "attend/tasks/results.h"
#include "attend/tasks/sentence_modules.h"

namespace attend::tasks {

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

class Embedder {
 public:
  Embedder(const std::filesystem::path& folder, Backend& backend, const nn::ModelFormat& format = {});
  ~Embedder();

  std::int64_t width() const { return modules_.width(); }  // of the vectors
  const SentenceModules& modules() const { return modules_; }
  // One vector a line.
  std::vector<std::vector<float>> embed(std::span<const std::string> lines, const EmbedOptions& options = {}) const;

  const EncoderModel<EncoderBody>& encoder() const { return encoder_; }

 private:
  EncoderModel<EncoderBody> encoder_;
  SentenceModules modules_;
};

// The cosine of the angle between two vectors; 0 when one is 0.
double cosine(std::span<const float> a, std::span<const float> b);

// f32 [rows, columns] as NumPy's format 1.0 has it.
std::string npy_of(std::span<const std::vector<float>> rows, std::int64_t columns);

}  // namespace attend::tasks
