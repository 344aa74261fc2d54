// Any bytes as the config.json of each kind of model: a config that is accepted describes a model that can be built,
// and where it is small, one that gets memory.
#include <memory>

#include "attend/backends.h"
#include "attend/catalogue/catalogue.h"
#include "attend/catalogue/marian.h"
#include "attend/models/bert_heads.h"
#include "attend/models/gpt2.h"
#include "attend/models/hugging_face_config.h"
#include "attend/models/seq2seq.h"
#include "fuzz/shared/target.h"

namespace attend::fuzz {

const Target kTarget = {.file = "config.json", .schema = R"({
      "model_type": ["bert", "roberta", "distilbert", "gpt2", "marian", "transformer", "rnn", "t5", 1],
      "architectures": [[], null, ["BertForSequenceClassification"], ["RobertaForTokenClassification"], ["BertForMaskedLM"],
        ["BertForPreTraining"], ["BertForNextSentencePrediction"], ["DistilBertForQuestionAnswering"], ["GPT2LMHeadModel"],
        ["GPT2ForSequenceClassification"], ["MarianMTModel"], [1], "x"],
      "vocab_size": [1, 30, 0, -1, 16777216, 16777217], "vocabulary": [1, 50, 0], "max_position_embeddings": [1, 8, 64, 0],
      "n_positions": [8, 0], "max_length": [8, 0], "type_vocab_size": [1, 2, 0], "hidden_size": [8, 32, 7, 65536],
      "dim": [8, 32], "n_embd": [8, 32], "d_model": [8, 32], "width": [8, 32], "num_hidden_layers": [0, 1, 2, 1024, 1025],
      "n_layers": [0, 1, 2], "n_layer": [0, 1, 2], "encoder_layers": [0, 1, 2], "decoder_layers": [0, 1, 2], "layers": [1, 2],
      "num_attention_heads": [1, 2, 4, 0, 3], "n_heads": [1, 4], "n_head": [1, 4], "heads": [1, 4, 0],
      "encoder_attention_heads": [1, 4], "decoder_attention_heads": [1, 4, 3], "intermediate_size": [1, 8, 64, 0],
      "hidden_dim": [8, 64], "n_inner": [null, 8, 64], "hidden": [8, 64], "encoder_ffn_dim": [8, 64], "decoder_ffn_dim": [8, 64],
      "hidden_act": ["gelu", "gelu_new", "relu", "silu", "tanh", "softplus"], "activation": ["gelu", "relu", "swish"],
      "activation_function": ["swish", "relu", "gelu_new", "gelu_pytorch_tanh", "x"], "hidden_dropout_prob": [0, 0.1, 1, -1],
      "attention_probs_dropout_prob": [0.1, 1], "dropout": [0, 0.1, 1, 2], "attention_dropout": [0.1, 1],
      "classifier_dropout": [null, 0.2, 1], "seq_classif_dropout": [0.2], "resid_pdrop": [0.1, 1], "embd_pdrop": [0.1, 1],
      "attn_pdrop": [0.1, 1], "layer_norm_eps": [1e-12], "layer_norm_epsilon": [1e-5], "initializer_range": [0.02],
      "bos_token_id": [0, null, -1], "eos_token_id": [1, null], "pad_token_id": [0, 1, 29, 64, null], "scale_embedding": [true],
      "position_embedding_type": ["absolute", "relative_key", 1], "sinusoidal_pos_embds": [false, true],
      "problem_type": ["regression", "single_label_classification", null, 3], "num_labels": [1, 3],
      "id2label": [{"0": "no", "1": "yes"}, {"0": "x"}, {"1": "x"}, {}, null, [], {"0": 0}], "is_decoder": [false, true],
      "add_cross_attention": [false, true], "tie_word_embeddings": [true, false, 1], "scale_attn_weights": [true, false],
      "scale_attn_by_inverse_layer_idx": [false, true], "share_encoder_decoder_embeddings": [true, false],
      "normalize_embedding": [false, true], "normalize_before": [false, true], "pre_norm": [true, false],
      "positions": ["sinusoidal", "learned", "sinusoidal-halves", "x"], "output_bias": [true], "scaled_embeddings": [true],
      "decoder_heads": [0, 4, 3], "decoder_hidden": [0, 64], "cell": ["gru", "lstm", "rnn"], "attention": [true, false]})"};

namespace {

constexpr std::int64_t kSmall = 1 << 18;  // numbers

std::int64_t numbers_of(const std::vector<nn::Parameters::Entry>& entries) {
  std::int64_t count = 0;
  for (const nn::Parameters::Entry& entry : entries) {
    count += entry.parameter->shape.size();
    if (count < 0 || count > kSmall) return kSmall + 1;
  }
  return count;
}

Backend& backend() {
  static const std::unique_ptr<Backend> opened = open_backend("cpu", {.threads = 1});
  return *opened;
}

template <class Model>
void build(Model&& model) {
  if (numbers_of(nn::Parameters::list(model)) <= kSmall) nn::Parameters(backend(), model, {});
}

void build_bert(const Json& json) {
  const models::BertConfig config = models::bert_config(json, "input");
  must_take([&] { models::bert_config(models::bert_json(config), "written"); }, "a config can be saved and read");
  build(models::Bert(config, models::Bert::Pooler::with));
  const std::string& head = config.architecture;
  if (head.ends_with("ForMaskedLM")) build(models::MaskedLanguageModel(config));
  if (head.ends_with("ForPreTraining")) build(models::BertPretraining(config));
  if (head.ends_with("ForNextSentencePrediction")) build(models::NextSentenceModel(config));
  if (head.ends_with("ForSequenceClassification")) build(models::SequenceClassifier(config));
  if (head.ends_with("ForTokenClassification")) build(models::TokenTagger(config));
  if (head.ends_with("ForQuestionAnswering")) build(models::QuestionAnswerer(config));
}

void build_gpt2(const Json& json) {
  const models::GPT2Config config = models::gpt2_config(json, "input");
  must_take([&] { models::gpt2_config(models::gpt2_json(config), "written"); }, "a config can be saved and read");
  if (config.labels.empty())
    build(models::GPT2LanguageModel(config));
  else
    build(models::GPT2Classifier(config));
}

void build_seq2seq(const Json& json) {
  const auto model = catalogue::make_seq2seq(json, "input");
  must_take([&] { catalogue::make_seq2seq(model->config(), "written"); }, "a config can be saved and read");
  const std::vector<nn::Parameters::Entry> entries = model->parameters();
  if (numbers_of(entries) > kSmall || model->max_length() > 4096) return;
  nn::Parameters(backend(), entries, {});
  model->place(backend(), DType::f32);
}

}  // namespace

void enter(const Input& input) {
  const Json json = parse_json(input.first().bytes, "input");
  for (const catalogue::Entry& entry : catalogue::entries()) attempt([&] { entry.check(json, "input"); });
  attempt([&] { catalogue::describe(json, "input"); });
  attempt([&] { build_bert(json); });
  attempt([&] { build_gpt2(json); });
  attempt([&] { build_seq2seq(json); });
  attempt([&] { models::Transformer(catalogue::marian_config(json, "input")); });
}

}  // namespace attend::fuzz
