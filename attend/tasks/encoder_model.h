// What fill, classify, tag, answer and embed share: a model of BERT's family from a Hugging Face folder, its tokenizer,
// texts cut to the model's length, and batches of texts of similar length without padding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attend/catalogue/catalogue.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/models/bert_heads.h"
#include "attend/nn/parameters.h"
#include "attend/tasks/results.h"
#include "attend/text/tokenizer.h"

namespace attend::tasks {

// A text or a pair as the model reads it. The texts themselves are tokens [first.begin, first.end) and
// [second.begin, second.end); what is around them was put there by the tokenizer.
struct EncoderText {
  struct Range {
    std::size_t begin = 0, end = 0;
    std::size_t size() const { return end - begin; }
  };
  std::vector<std::int32_t> ids, types;
  std::vector<std::string> tokens;
  std::vector<text::Span> offsets;  // in characters of the text the token is from
  Range first, second;
  std::size_t cut = 0;  // tokens that were left out because the model reads no more
};

// Texts one after another, without padding, on the host: what nn::Sequences is made of.
struct PackedTexts {
  std::vector<std::int32_t> ids, types, positions;  // [rows]
  std::vector<std::int32_t> offsets = {0};          // [texts + 1]
  std::int64_t longest = 0;
};

// The same with padding behind every text: ids, types and positions [texts, longest], and no offsets.
struct PaddedTexts {
  PackedTexts texts;
  std::vector<std::int32_t> lengths;  // [texts]
};

// Characters [begin, end) of well-formed UTF-8.
std::string characters_of(std::string_view text, text::Span span);

// How a model reads texts, whichever it is.
struct TextSettings {
  std::int64_t vocabulary = 0;
  std::int64_t longest = 0;  // text, in tokens, with what is put around it
  std::int64_t types = 0;    // of tokens: first and second text; 0: it knows none
  std::int64_t start = 0;    // the token that stands for a text of none
  std::int64_t pad = 0;
  std::int32_t first_position = 0;  // RoBERTa counts from behind the padding's
  bool padded = false;              // texts are [texts, longest] with padding, as a recurrent network reads them
  // Of a model whose global tokens have projections of their own: which they are.
  models::GlobalRule globals = {};
};
TextSettings text_settings(const models::BertConfig& config);

// The tokenizer of a folder, for a model that reads texts so.
class EncoderReader {
 public:
  EncoderReader(const std::filesystem::path& folder, std::string command, const TextSettings& settings);

  const TextSettings& settings() const { return settings_; }
  const text::Tokenizer& tokenizer() const { return tokenizer_; }
  const std::string& command() const { return command_; }
  std::int64_t longest() const;  // a text, with what is put around it
  // Reads no more than so many tokens of a text, if the model could; 0: as many as that can.
  void limit(std::int64_t tokens) { limit_ = tokens; }

  // Not cut.
  EncoderText read_all(std::string_view text) const;
  EncoderText read_all(std::string_view text, std::string_view second) const;
  // The same text with at most so many tokens of its parts.
  static EncoderText shortened(const EncoderText& text, EncoderText::Range first, EncoderText::Range second);
  // Lines, cut at the end to the model's length: of a pair the longer text first. Malformed UTF-8 is mended. Where the
  // tokenizer puts nothing around an empty text, it is the config's first token.
  EncoderText read(std::string_view line, std::int64_t number, const EncoderBatching& batching) const;
  EncoderText read(std::string_view text, std::string_view second, std::int64_t number,
                   const EncoderBatching& batching) const;

  // Whether the token goes on with the word before it.
  bool continues_word(const EncoderText& text, std::size_t token) const;

  PackedTexts pack(std::span<const EncoderText* const> texts) const;
  // longest: of a row, at least that of the longest text.
  PaddedTexts pad(const PackedTexts& packed, std::int64_t longest) const;
  // Padded, for a model whose settings say so.
  models::BertInput pack(std::span<const EncoderText* const> texts, Backend& backend) const;

 private:
  EncoderText cut(EncoderText text, std::int64_t number, const EncoderBatching& batching) const;

  std::string command_;
  TextSettings settings_;
  text::Tokenizer tokenizer_;
  std::string word_mark_;  // of the space before a word; none: WordPiece marks the rest of one ("##")
  std::int64_t limit_ = 0;
};

// Calls run(texts, indices) for batches of texts of similar length, until all had their turn.
using EncoderBatch = std::span<const EncoderText* const>;
void in_batches(std::span<const EncoderText> texts, std::int64_t batch,
                const std::function<void(EncoderBatch texts, std::span<const std::size_t> indices)>& run);

// What a model said of the rows of texts one after another (`width` numbers each), text by text.
std::vector<std::vector<float>> by_text(std::span<const float> rows, EncoderBatch texts, std::size_t width);

template <class Model>
class EncoderModel {
 public:
  // Throws Error when the folder's model does not do the task, saying which command fits it.
  EncoderModel(const std::filesystem::path& folder, const std::string& command, catalogue::Task task, Backend& backend,
               const nn::ModelFormat& format)
      : EncoderModel(folder, command, catalogue::read_config(folder, task, command), backend, format) {}

  Backend& backend() const { return backend_; }
  const EncoderReader& reader() const { return reader_; }
  EncoderReader& reader() { return reader_; }
  const Model& model() const { return model_; }
  const models::BertConfig& config() const { return model_.body().config(); }
  const nn::Parameters& parameters() const { return parameters_; }
  nn::Parameters& parameters() { return parameters_; }

 private:
  EncoderModel(const std::filesystem::path& folder, const std::string& command, const catalogue::ModelConfig& config,
               Backend& backend, const nn::ModelFormat& format)
      : backend_(backend),
        model_(models::bert_config(config.json, config.path)),
        reader_(folder, command, text_settings(model_.body().config())),
        parameters_(backend, model_, checkpoint::run_options(folder, format)) {
    checkpoint::load_hugging_face(checkpoint::TensorFiles::open(folder), parameters_,
                                  {.prefix = std::string(config.entry->prefix)});
  }

  Backend& backend_;
  Model model_;
  EncoderReader reader_;
  nn::Parameters parameters_;
};

// The states of every token, [tokens, C] for each text: one pass over all of them.
template <class Model>
std::vector<std::vector<float>> states_of(const EncoderModel<Model>& encoder, EncoderBatch texts) {
  Pass pass(encoder.backend());
  const models::BertInput input = encoder.reader().pack(texts, encoder.backend()).in(pass);
  return by_text(download(encoder.model().body().states(input)), texts,
                 static_cast<std::size_t>(encoder.config().width));
}

}  // namespace attend::tasks
