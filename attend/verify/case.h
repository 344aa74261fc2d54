// One folder under verification: what it expects, and what the model here makes of its inputs (verify.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attend/base/json.h"
#include "attend/catalogue/catalogue.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/checkpoint/safetensors.h"
#include "attend/decode/beam_search.h"
#include "attend/nn/parameters.h"
#include "attend/nn/sequences.h"
#include "attend/nn/step_model.h"
#include "attend/verify/verify.h"
#include "attend/view/collector.h"

namespace attend::verify {

// What the model here made under a name of the file.
struct ProducedTensor {
  Shape shape;
  std::vector<float> floats = {};
  std::vector<std::int64_t> ints = {};
  bool first_rows = false;  // of the file's: texts that case.json would have are not there
};

class VerifyCase {
 public:
  VerifyCase(std::filesystem::path folder, Backend& backend, const nn::ModelFormat& format);

  // Texts that the file has run alone: "input_ids.1" is the input of text 1. Without any, the one run of all is
  // nothing.
  std::vector<std::optional<std::size_t>> runs() const;
  // From here on names are those of this run: "logits" is "logits.1" of the file when text 1 is run alone, and may be a
  // slice there (expected_name.h).
  void select(std::optional<std::size_t> text);
  // Whether case.json says so: "global_attention": "text 0: the first token, text 1: none".
  bool first_is_global() const;
  bool is_input(std::string_view name) const;  // of a tensor of the file

  bool wants(const std::string& name) const { return !left_out(name) && named_.contains(name); }
  const checkpoint::StoredTensor& stored(const std::string& name) const;  // throws Error when there is none
  std::vector<std::int64_t> stored_ints(const std::string& name) const { return expected.ints(stored(name).name); }
  // What only a model that can be trained answers, where this one cannot.
  bool left_out(std::string_view name) const;
  bool wants_gradients() const;
  bool wants_losses() const;        // or gradients, which take one
  std::string config_name() const;  // of the file that config is from

  // An input on the device: f32 from any float type, i32 from any integer type.
  Tensor input(const std::string& name) const;
  // The same of rows of a table with `rows` of them: throws Error naming the first id that is none.
  Tensor ids(const std::string& name, std::int64_t rows) const;
  // And of what should be answered, where -100 counts for nothing.
  Tensor labels(const std::string& name, std::int64_t classes) const;
  // input_ids, with the lengths that attention_mask tells, if there is one. It must be ones and then zeros.
  nn::Sequences texts(std::int64_t vocabulary) const;
  // pixel_values [B, C, H, W] as models here read them: [B, H, W, C].
  Tensor images() const;
  Tensor ints(const Shape& shape, std::span<const std::int32_t> values) const;

  // These keep what the file wants, or the slice of it that it wants, and pass over the rest.
  void keep(const std::string& name, const ProducedTensor& value);
  void put(const std::string& name, const Tensor& value);
  void put_ints(const std::string& name, const Shape& shape, std::vector<std::int64_t> values);
  void put_hidden(const std::vector<Tensor>& hidden);
  void put_attention(const view::Collector& collector, const std::string& label, const std::string& name);
  void put_gradients(const nn::Parameters& parameters);

  // A search that the file wants the result of: "greedy", "beam4", "beam4_lp06" (a length penalty of 0.6). Other
  // settings come from generation_config.json, and config.json under it.
  struct Search {
    std::string name;
    decode::BeamOptions options;
    std::int64_t width = 0;    // of the file's result
    std::int64_t longest = 0;  // a result, with everything around it
    std::int32_t pad = 0;
  };
  std::vector<Search> searches(std::int64_t vocabulary) const;
  std::optional<std::int64_t> setting(const char* key) const;
  const Json* found_setting(const char* key) const;  // null when neither file has it
  // A setting that is a row of the table of tokens; none when the files have none.
  std::optional<std::int32_t> token(const char* key, std::int64_t vocabulary) const;
  // One row for each text, padded to the width of the file's.
  void put_searched(const Search& search, const std::vector<std::vector<std::int64_t>>& rows);
  // "greedy_logprobs": of each token of the rows from `begin` on, by a model that has read what is before.
  void put_log_probabilities(const Search& search, const std::vector<std::vector<std::int64_t>>& rows,
                             std::size_t begin, nn::StepModel& model);
  // A search of a model that writes behind a start token alone, no more than `most` with it; start() gets ready for so
  // many rows of each of `texts`.
  using Start = std::function<std::unique_ptr<nn::StepModel>(Pass& pass, std::int64_t group)>;
  void put_written(Search search, std::int64_t texts, std::int64_t most, const Start& start);
  // Labels moved right by one, behind the start token: what such a model reads of them.
  nn::Sequences behind_start(const Tensor& labels, std::int32_t start, std::int32_t pad) const;

  std::filesystem::path folder;
  Backend& backend;
  DType dtype;
  nn::ParametersOptions parameters;
  Json config, generation, notes;  // config.json (or what case.json says instead), generation_config.json, case.json
  checkpoint::Safetensors expected;
  std::map<std::string, ProducedTensor> produced;  // by the names of the file

 private:
  std::optional<std::size_t> text_;
  std::map<std::string, const checkpoint::StoredTensor*, std::less<>> named_;
};

// From the characters of the texts in case.json on. Token ids: none where it lists none. "embeddings": by the folder's
// sentence-transformers modules, of the texts, or else of those whose input_ids the file has.
std::optional<VerifiedTensor> check_tokens(VerifyCase& verified, const catalogue::ModelConfig& model);
void run_embeddings(VerifyCase& verified, const nn::ModelFormat& format);

// The kinds of models. Each throws Error naming the architectures it knows when it is another.
void run_bert_case(VerifyCase& verified, const catalogue::ModelConfig& model);
void run_gpt2_case(VerifyCase& verified, const catalogue::ModelConfig& model);
void run_marian_case(VerifyCase& verified, const catalogue::ModelConfig& model);
void run_image_case(VerifyCase& verified, const catalogue::ModelConfig& model);
void run_detr_case(VerifyCase& verified, const catalogue::ModelConfig& model);
void run_caption_case(VerifyCase& verified, const catalogue::ModelConfig& model);

}  // namespace attend::verify
