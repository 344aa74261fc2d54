// Text that goes on where a prompt ends, with a language model: GPT-2 from a Hugging Face folder, or a recurrent
// network.
//
//   const auto loaded = tasks::load_generator("gpt2", *backend);
//   loaded->generate("The animal did not cross the street because", {.max_tokens = 20});
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attend/catalogue/catalogue.h"
#include "attend/decode/hypothesis.h"
#include "attend/models/language_model.h"
#include "attend/nn/parameters.h"
#include "attend/tasks/results.h"
#include "attend/text/tokenizer.h"

namespace attend::decode {
struct SampleOptions;
struct Speculated;
}  // namespace attend::decode

namespace attend::tasks {

class Generator {
 public:
  Generator(const std::filesystem::path& folder, Backend& backend, const nn::ModelFormat& format = {});
  ~Generator();

  // As many as options.samples. Throws Error when the prompt leaves no room. A draft, a smaller model with the same
  // tokens, guesses tokens ahead (decode/speculate.h); the text stays the same.
  std::vector<Generated> generate(std::string_view prompt, const GenerateOptions& options,
                                  const Generator* draft = nullptr) const;
  // For each prompt what generate() gives with options.seed + its number (the first has 0), whoever shares the batch
  // (on a GPU up to rounding): where a text ends, the next one begins (decode/sample_texts.h). No beams, no on_text.
  // When it is interrupted, prompts that were not told are missing.
  void generate_many(std::span<const std::string> prompts, const GenerateOptions& options,
                     const ManyOptions& many) const;
  // Of a text of any length, in windows of the model's length that overlap by `context` tokens, which only the first
  // window counts (0: half a window).
  // seen, if any, hears of every token but the first: its number among ids, and what it cost in nats.
  using SeenToken = std::function<void(std::span<const std::int32_t> ids, std::size_t token, float nats)>;
  Perplexity perplexity(std::string_view text, std::int64_t context = 0, const SeenToken& seen = {}) const;

  // For whoever draws tokens by other rules (attend serve). A prompt's tokens, at least one; Error when it leaves no
  // room. The rows of the table that stand for no token.
  std::vector<std::int32_t> read_prompt(std::string_view prompt) const;
  std::vector<std::int32_t> meaningless() const;
  Backend& backend() const { return backend_; }

  const models::LanguageModel& model() const { return *model_; }
  const nn::Parameters& parameters() const { return parameters_; }
  nn::Parameters& parameters() { return parameters_; }
  const text::Tokenizer& tokenizer() const { return tokenizer_; }

 private:
  bool has_stop(std::span<const std::int32_t> written, const std::vector<std::string>& stops) const;
  decode::Speculated speculated(const decode::SampleOptions& options, std::int64_t most, const Generator* draft) const;
  Generated finished(const decode::Hypothesis& result, const std::vector<std::string>& stops) const;

  Generator(const std::filesystem::path& folder, const catalogue::ModelConfig& config, Backend& backend,
            const nn::ModelFormat& format);

  Backend& backend_;
  text::Tokenizer tokenizer_;
  std::unique_ptr<models::LanguageModel> model_;
  nn::Parameters parameters_;
};

}  // namespace attend::tasks
