// Models that read or write text, one class a task. Each opens a model folder on a device and keeps both until its last
// copy is gone; copies are the same model. Constructors throw Error naming the file that is missing or wrong, and, when
// the folder's model does something else, the command that fits it.
//
//   const attend::Translator translator(attend::find_model("en-fr"), attend::Device("cpu"));
//   const std::vector<std::string> lines = {"I am a student."};
//   for (const auto& line : translator.translate(lines, {.beams = 4})) std::cout << line.text() << '\n';
//
// What comes out for a line does not depend on the lines around it, the size of batches or the number of threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attend/api/model.h"
#include "attend/api/tokenizer.h"
#include "attend/device.h"
#include "attend/tasks/results.h"

namespace attend {

// The models themselves: only the library's own files know what is inside.
namespace tasks {
class Answerer;
class Classifier;
class Embedder;
class Filler;
class Generator;
class Reranker;
class Tagger;
struct LoadedTranslator;
}  // namespace tasks

using tasks::Answer;
using tasks::AnswerOptions;
using tasks::Classified;
using tasks::ClassifyOptions;
using tasks::EmbedOptions;
using tasks::EncoderBatching;
using tasks::FilledLine;
using tasks::FillOptions;
using tasks::Generated;
using tasks::GenerateOptions;
using tasks::ManyOptions;
using tasks::Perplexity;
using tasks::SelfAttention;
using tasks::TaggedLine;
using tasks::TaggedWord;
using tasks::TranslatedLine;
using tasks::TranslateOptions;
using tasks::Translation;

// Lines of one language into lines of another.
class Translator {
 public:
  Translator(const std::filesystem::path& folder, const Device& device, const ModelOptions& options = {});

  // One result a line. Batches are made of lines of similar length among those given: hand over a stream in windows of
  // a few batches.
  std::vector<TranslatedLine> translate(std::span<const std::string> lines, const TranslateOptions& options = {}) const;
  // Every head of every layer of the encoder, in order; none for a model whose encoder has no attention.
  std::vector<SelfAttention> self_attention(const std::string& line) const;
  Tokenizer tokenizer() const;

 private:
  std::shared_ptr<const tasks::LoadedTranslator> inner_;
};

// Text that continues a prompt.
class Generator {
 public:
  Generator(const std::filesystem::path& folder, const Device& device, const ModelOptions& options = {});

  // As many as options.samples. Throws Error when the prompt leaves no room.
  std::vector<Generated> generate(std::string_view prompt, const GenerateOptions& options = {}) const;
  // generate() asks this model, smaller and with the same tokens, for guesses: speculative decoding. The texts stay
  // the same. GenerateOptions::speculate alone guesses from the text itself.
  void use_draft(const Generator& draft) { draft_ = draft.inner_; }
  // For each prompt what generate() returns with options.seed + its number; the first has number 0. No beams, no
  // on_text. When it is interrupted, prompts that were not reported are missing.
  void generate_many(std::span<const std::string> prompts, const GenerateOptions& options,
                     const ManyOptions& many) const;
  // Of a text of any length, in windows of the model's length that overlap by `context` tokens (0: half a window).
  Perplexity perplexity(std::string_view text, std::int64_t context = 0) const;
  Tokenizer tokenizer() const;

 private:
  std::shared_ptr<const tasks::Generator> inner_, draft_;
};

// A label, or a number, for each text or pair of texts.
class Classifier {
 public:
  Classifier(const std::filesystem::path& folder, const Device& device, const ModelOptions& options = {});

  // A line with a tab in it is a pair.
  std::vector<Classified> classify(std::span<const std::string> lines, const ClassifyOptions& options = {}) const;
  const std::vector<std::string>& labels() const;
  bool regression() const;  // one number instead of labels
  Tokenizer tokenizer() const;

 private:
  std::shared_ptr<const tasks::Classifier> inner_;
};

// How relevant documents are for a query (a cross-encoder).
class Reranker {
 public:
  Reranker(const std::filesystem::path& folder, const Device& device, const ModelOptions& options = {});

  // One score a document, in their order.
  std::vector<float> scores(const std::string& query, std::span<const std::string> documents,
                            const EncoderBatching& batching = {}) const;

 private:
  std::shared_ptr<const tasks::Reranker> inner_;
};

// A label for every word of a text: names, parts of speech.
class Tagger {
 public:
  Tagger(const std::filesystem::path& folder, const Device& device, const ModelOptions& options = {});

  // A word of several tokens has the label of its first.
  std::vector<TaggedLine> tag(std::span<const std::string> lines, const EncoderBatching& batching = {}) const;
  Tokenizer tokenizer() const;

 private:
  std::shared_ptr<const tasks::Tagger> inner_;
};

// Where in a text the answer to a question is.
class Answerer {
 public:
  Answerer(const std::filesystem::path& folder, const Device& device, const ModelOptions& options = {});

  // Best first; none for a context without tokens. Throws Error when the question leaves no room for the context.
  std::vector<Answer> answer(std::string_view question, std::string_view context,
                             const AnswerOptions& options = {}) const;
  Tokenizer tokenizer() const;

 private:
  std::shared_ptr<const tasks::Answerer> inner_;
};

// The tokens behind [MASK] (BERT) or <mask> (RoBERTa).
class Filler {
 public:
  Filler(const std::filesystem::path& folder, const Device& device, const ModelOptions& options = {});

  // Throws Error naming the line that has no mask.
  std::vector<FilledLine> fill(std::span<const std::string> lines, const FillOptions& options = {}) const;
  const std::string& mask() const;  // as a text spells it
  Tokenizer tokenizer() const;

 private:
  std::shared_ptr<const tasks::Filler> inner_;
};

// A vector for each text.
class Embedder {
 public:
  Embedder(const std::filesystem::path& folder, const Device& device, const ModelOptions& options = {});

  std::int64_t width() const;  // of the vectors
  // One vector a line.
  std::vector<std::vector<float>> embed(std::span<const std::string> lines, const EmbedOptions& options = {}) const;
  Tokenizer tokenizer() const;

 private:
  std::shared_ptr<const tasks::Embedder> inner_;
};

// The cosine of the angle between two vectors; 0 when one is 0.
double cosine(std::span<const float> a, std::span<const float> b);

}  // namespace attend
