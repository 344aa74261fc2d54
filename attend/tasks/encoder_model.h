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

#include "attend/checkpoint/hugging_face.h"
#include "attend/models/bert_heads.h"
#include "attend/nn/parameters.h"
#include "attend/text/tokenizer.h"

namespace attend::tasks {

struct EncoderBatching {
  std::int64_t batch = 32;  // texts computed together
  // Hears about texts that were cut or mended. Lines are counted from first_line.
  std::function<void(std::string_view message)> warn = {};
  std::int64_t first_line = 1;
};

// A text or a pair as the model reads it. The texts themselves are tokens [first.begin, first.end) and
// [second.begin, second.end); what is around them was put there by the tokenizer.
struct EncoderText {
  struct Range {
    std::size_t begin = 0, end = 0;
    std::size_t size() const { return end - begin; }
  };
  std::vector<std::int32_t> ids, types;
  std::vector<std::string> tokens;
  std::vector<Span> offsets;  // in characters of the text the token is from
  Range first, second;
  std::size_t cut = 0;  // tokens that were left out because the model reads no more
};

// Texts one after another, without padding, on the host: what nn::Sequences is made of.
struct PackedTexts {
  std::vector<std::int32_t> ids, types, positions;  // [rows]
  std::vector<std::int32_t> offsets = {0};          // [texts + 1]
  std::int64_t longest = 0;
};

// Characters [begin, end) of well-formed UTF-8.
std::string characters_of(std::string_view text, Span span);

// In place, with the largest value taken off first.
void softmax(std::span<float> values);

// The largest first, equal ones in order; at most count.
std::vector<std::size_t> largest(std::span<const float> values, std::int64_t count);

// Config and tokenizer of a folder.
class EncoderReader {
 public:
  // heads are endings of architectures ("ForMaskedLM"), none: any. Throws Error when the folder's is another, saying
  // which command fits that one.
  EncoderReader(const std::filesystem::path& folder, std::string command, std::span<const std::string_view> heads);
  // For a model that reads texts alike: of the config the tokens, lengths and labels count.
  EncoderReader(const std::filesystem::path& folder, std::string command, models::BertConfig config);

  const models::BertConfig& config() const { return config_; }
  const Tokenizer& tokenizer() const { return tokenizer_; }
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

  PackedTexts pack(std::span<const EncoderText* const> texts) const;
  // The position of a text's first token: RoBERTa counts from behind the padding's.
  std::int32_t first_position() const;
  models::BertInput pack(std::span<const EncoderText* const> texts, Backend& backend) const;

 private:
  EncoderText cut(EncoderText text, std::int64_t number, const EncoderBatching& batching) const;

  std::string command_;
  models::BertConfig config_;
  Tokenizer tokenizer_;
  std::int64_t limit_ = 0;
};

// Calls run(texts, indices) for batches of texts of similar length, until all had their turn.
using EncoderBatch = std::span<const EncoderText* const>;
void in_batches(std::span<const EncoderText> texts, std::int64_t batch,
                const std::function<void(EncoderBatch texts, std::span<const std::size_t> indices)>& run);

template <class Model>
class EncoderModel {
 public:
  EncoderModel(const std::filesystem::path& folder, const std::string& command, std::span<const std::string_view> heads,
               Backend& backend, const nn::ModelFormat& format)
      : backend_(backend),
        reader_(folder, command, heads),
        model_(reader_.config()),
        parameters_(backend, model_, run_options(folder, format)) {
    load_hugging_face(TensorFiles::open(folder), parameters_, {.prefix = models::name_of(reader_.config().family)});
  }

  Backend& backend() const { return backend_; }
  const EncoderReader& reader() const { return reader_; }
  const Model& model() const { return model_; }
  const nn::Parameters& parameters() const { return parameters_; }
  nn::Parameters& parameters() { return parameters_; }

 private:
  Backend& backend_;
  EncoderReader reader_;
  Model model_;
  nn::Parameters parameters_;
};

}  // namespace attend::tasks
