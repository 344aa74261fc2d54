// Lines of one language into lines of another, with any model that reads and writes sequences.
//
//   const auto loaded = tasks::load_translator("models/en-fr", *backend);
//   const std::vector<std::string> lines = {"I am a student."};
//   for (const tasks::TranslatedLine& line : loaded->translator.translate(lines, {.beams = 4}))
//     std::cout << line.text() << '\n';
//
// What comes out for a line does not depend on the lines around it, the size of batches or the number of threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attend/catalogue/catalogue.h"
#include "attend/decode/beam_search.h"
#include "attend/decode/hypothesis.h"
#include "attend/models/seq2seq.h"
#include "attend/nn/parameters.h"
#include "attend/nn/step_model.h"
#include "attend/tasks/results.h"
#include "attend/tasks/search_defaults.h"
#include "attend/tensor/pass.h"
#include "attend/text/tokenizer.h"
#include "attend/view/attention_map.h"

namespace attend::tasks {

inline constexpr const char* kPadToken = "<pad>";
inline constexpr const char* kStartToken = "<s>";
inline constexpr const char* kEndToken = "</s>";
inline constexpr const char* kUnknownToken = "<unk>";

class Translator {
 public:
  // All three must outlive it. start: what a translation begins with, if it is not <s>. Throws Error when the tokenizer
  // lacks a special token or knows more than the model.
  Translator(const models::Seq2Seq& model, const text::Tokenizer& tokenizer, Backend& backend,
             std::optional<std::int32_t> start = {}, SearchDefaults defaults = {});

  // With the number of beams where the options leave that to the model.
  TranslateOptions resolved(TranslateOptions options) const;

  // One result a line. Batches are made of lines of similar length among those given: a stream is handed over in
  // windows of a few batches.
  std::vector<TranslatedLine> translate(std::span<const std::string> lines, const TranslateOptions& options = {}) const;

  // A sentence as the model reads it; none for a line that is blank.
  std::optional<std::vector<std::int32_t>> tokens_of(const std::string& line) const;
  // Beam searches that are taken a step at a time (attend serve): each sentence is heard of, by its number, as soon as
  // it is translated.
  class Search {
   public:
    bool done() const { return search_->done(); }
    void step() { search_->step(); }
    void drop(std::size_t sentence) { search_->drop(sentence); }

   private:
    friend class Translator;
    explicit Search(Backend& backend) : pass_(backend) {}
    Pass pass_;
    decode::BeamOptions options_;
    std::unique_ptr<nn::StepModel> model_;
    std::unique_ptr<decode::BeamSearch> search_;
  };
  using Translated = std::function<void(std::size_t sentence, std::vector<Translation> translations)>;
  // Of options: beams, alpha and n_best.
  std::unique_ptr<Search> begin(const std::vector<std::vector<std::int32_t>>& sentences,
                                const TranslateOptions& options, Translated translated) const;

  // Every head of every layer of the encoder, in order; none for a model whose encoder has no attention.
  std::vector<SelfAttention> self_attention(const std::string& line) const;

  // For whoever searches by hand (look/inspect/translation.h): what a translation begins and ends with, and never
  // contains.
  std::int32_t start() const { return start_; }
  std::int32_t end() const { return end_; }
  const std::vector<std::int32_t>& suppressed() const { return suppressed_; }
  const SearchDefaults& defaults() const { return defaults_; }

 private:
  struct Source {
    std::size_t line;
    std::vector<std::int32_t> ids;  // with the end token
  };
  std::vector<Source> read(std::span<const std::string> lines, const TranslateOptions& options) const;
  std::int64_t longest_for(std::size_t tokens) const;  // translation of a sentence of so many, the end counted
  decode::BeamOptions beam_options(const TranslateOptions& options, std::vector<std::int64_t> max_lengths) const;
  Translation translation_of(const decode::Hypothesis& hypothesis) const;
  std::vector<std::vector<decode::Hypothesis>> search(std::span<const Source> batch,
                                                      const TranslateOptions& options) const;
  void drop_doubles(std::vector<decode::Hypothesis>& hypotheses, const TranslateOptions& options) const;
  // Where the rank-th hypothesis of each sentence looked, by one pass over the finished pairs.
  void look(std::span<const Source> batch, const std::vector<std::vector<decode::Hypothesis>>& hypotheses,
            std::size_t rank, std::vector<TranslatedLine>& lines) const;

  const models::Seq2Seq& model_;
  const text::Tokenizer& tokenizer_;
  Backend& backend_;
  std::int32_t pad_ = 0, start_ = 0, end_ = 0;
  SearchDefaults defaults_;
  std::vector<std::int32_t> suppressed_;
};

// A translator with all it stands on, read from a model's folder: config.json, model.safetensors, tokenizer.json; of
// Marian (OPUS-MT) also source.spm, target.spm and vocab.json.
struct LoadedTranslator {
  // config: of the folder, of a model that translates.
  LoadedTranslator(const std::filesystem::path& folder, const catalogue::ModelConfig& config, Backend& backend,
                   const nn::ModelFormat& format);
  ~LoadedTranslator();

  text::Tokenizer tokenizer;
  std::unique_ptr<models::Seq2Seq> model;
  nn::Parameters parameters;
  Translator translator;
};
// Throws Error naming the file that is missing or wrong. backend must outlive the result.
std::unique_ptr<LoadedTranslator> load_translator(const std::filesystem::path& folder, Backend& backend,
                                                  const nn::ModelFormat& format = {});

}  // namespace attend::tasks
