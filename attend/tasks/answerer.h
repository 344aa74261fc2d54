// Where in a text the answer to a question is (Devlin et al. 2019, section 4.2). A text longer than the model reads is
// looked at in windows that overlap.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attend/tasks/encoder_model.h"
#include "attend/tasks/results.h"

namespace attend::tasks {

// What the model says of the context's tokens of one window.
struct WindowLogits {
  std::vector<float> starts, ends;
};

// Tokens first to last of one window's context, and the probability among all of all windows.
struct FoundSpan {
  std::size_t window = 0, first = 0, last = 0;
  float probability = 0;
};
// All answers of at most so many tokens, likeliest first.
std::vector<FoundSpan> spans_of(std::span<const WindowLogits> windows, std::int64_t max_tokens);

// A context cut into windows, each behind the question. Throws Error when the question leaves no room for the context.
std::vector<EncoderText> answer_windows(const EncoderReader& reader, std::string_view question,
                                        std::string_view context, std::int64_t overlap);

class Answerer {
 public:
  Answerer(const std::filesystem::path& folder, Backend& backend, const nn::ModelFormat& format = {});
  ~Answerer();

  // Best first; none for a context without tokens. Throws Error when the question leaves no room for the context.
  std::vector<Answer> answer(std::string_view question, std::string_view context,
                             const AnswerOptions& options = {}) const;

  // In two halves: one pass over windows, and the answers from what it says of all windows of a context.
  std::vector<WindowLogits> logits(EncoderBatch windows) const;
  static std::vector<Answer> answers(std::span<const EncoderText> windows, std::span<const WindowLogits> logits,
                                     std::string_view context, const AnswerOptions& options);

  const EncoderModel<models::QuestionAnswerer>& encoder() const { return encoder_; }

 private:
  EncoderModel<models::QuestionAnswerer> encoder_;
};

}  // namespace attend::tasks
