// What sentence-transformers puts behind an encoder (Reimers & Gurevych 2019): modules.json lists folders with a
// Pooling of the tokens' states, Dense layers, and Normalize; sentence_bert_config.json has the longest text, and
// config_sentence_transformers.json the prompts. A folder without modules.json has mean pooling and nothing else.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attend/tasks/results.h"

namespace attend::tasks {

class EncoderReader;

// max_seq_length of a folder's sentence_bert_config.json, in tokens; 0: as long as the model reads.
std::int64_t longest_sentence(const std::filesystem::path& folder);

class SentenceModules {
 public:
  // width: of the encoder's states. Throws Error naming the file and what in it is wrong or not supported.
  SentenceModules(const std::filesystem::path& folder, std::int64_t width);

  bool found() const { return found_; }                          // there is a modules.json
  std::int64_t width() const;                                    // of the vectors
  std::int64_t longest() const { return longest_; }              // text in tokens; 0: as long as the model reads
  std::span<const Pooling> pooling() const { return pooling_; }  // several are put behind one another
  bool normalizes() const;
  std::string description() const;  // "mean pooling, dense 768 to 512 (tanh), normalized"

  const std::map<std::string, std::string>& prompts() const { return prompts_; }
  // The prompt of that name, or without a name the default one, which may be empty. Throws Error for an unknown name.
  std::string prompt(const std::optional<std::string>& name) const;
  // How many tokens of a text behind this prompt the pooling leaves out: 0 where the prompt counts, too.
  std::size_t skipped_tokens(const EncoderReader& reader, const std::string& prompt) const;
  // The text as the model reads it, behind a prompt.
  std::string prepared(std::string_view text, std::string_view prompt) const;

  // One vector of the states [T, C] of a text, without its first `skipped` tokens.
  std::vector<float> operator()(std::span<const float> states, const SentenceOverrides& overrides = {},
                                std::size_t skipped = 0) const;
  // Throws Error where the Dense layers do not fit another pooling.
  void check(const SentenceOverrides& overrides) const;

 private:
  struct Dense {
    std::int64_t inputs = 0, outputs = 0;
    enum class Activation : std::uint8_t { identity, tanh, relu, gelu, sigmoid } activation = Activation::tanh;
    std::vector<float> weight, bias;  // [outputs, inputs], [outputs] or none
  };
  struct Step {
    enum class Kind : std::uint8_t { dense, normalize } kind;
    Dense dense = {};
  };
  void read_modules(const std::filesystem::path& folder);
  void read_pooling(const std::filesystem::path& file);
  void read_prompts(const std::filesystem::path& file);
  static Dense read_dense(const std::filesystem::path& folder, std::int64_t width);
  static void apply(const Dense& dense, std::vector<float>& vector);
  static std::string_view name_of(Dense::Activation activation);

  std::int64_t states_;  // width of the states
  bool found_ = false, lower_case_ = false, pools_prompt_ = true;
  std::int64_t longest_ = 0;
  std::vector<Pooling> pooling_ = {Pooling::mean};
  std::vector<Step> steps_;
  std::map<std::string, std::string> prompts_;
  std::string default_prompt_;
};

// One vector from the states of a text's tokens, [T, C].
std::vector<float> pooled(std::span<const float> states, std::size_t width, Pooling pooling);

// To length 1; 0 stays 0.
void normalize(std::span<float> vector);

}  // namespace attend::tasks
