// Any bytes as the expected.safetensors of a small model, with the settings of its searches beside it.
#include "attend/verify/verify.h"

#include <filesystem>

#include "attend/backends.h"
#include "attend/catalogue/marian.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/checkpoint/safetensors_writer.h"
#include "attend/models/bert_heads.h"
#include "attend/models/gpt2.h"
#include "fuzz/shared/target.h"

namespace attend::fuzz {

const Target kTarget = {.file = "expected.safetensors", .schema = R"({"dtype": ["F32", "I64", "I32", "BF16"],
      "shape": [[2, 4], [2], [1], [], [2, 4, 8], [2, 4, 11], [3, 2, 4], [2, 3], [3], [0, 4], [2, 0], [11, 8], [2, 1, 4, 4]],
      "eos_token_id": [1, -1, 11], "decoder_start_token_id": [10, 0, -5], "pad_token_id": [10, 1, 99], "max_length": [6, 0, 9, -1],
      "length_penalty": [1.0, -1e30], "bad_words_ids": [[[10]], [[-1]], [1]], "forced_eos_token_id": [1],
      "optimizer": ["AdamW lr 1e-3 betas .9 .95 eps 1e-8 weight_decay 0.1 on every parameter, clip global grad norm 1.0, lr = 1e-3*min(1,step/4), step from 1"],
      "@tensors": ["input_ids", "attention_mask", "token_type_ids", "labels", "start_positions", "end_positions", "prompt",
        "next_sentence_label", "logits", "loss", "losses", "final_wte", "hidden.0", "attention.0", "last_hidden_state", "greedy",
        "beam2", "beam2_lp06", "pooler_output", "start_logits", "end_logits", "prediction_logits", "seq_relationship_logits",
        "encoder_last", "encoder_attention.0", "decoder_attention.0", "cross_attention.0", "grad.transformer.wte.weight",
        "grad.model.shared.weight", "grad.bert.embeddings.word_embeddings.weight", "grad.classifier.bias"]})"};

namespace {

namespace fs = std::filesystem;

constexpr const char* kBert =
    R"("vocab_size": 11, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8,
       "max_position_embeddings": 8, "id2label": {"0": "a", "1": "b", "2": "c"})";
constexpr const char* kDistilBert =
    R"("vocab_size": 11, "dim": 8, "n_layers": 1, "n_heads": 1, "hidden_dim": 8, "max_position_embeddings": 8)";
constexpr const char* kGpt2 = R"("vocab_size": 11, "n_embd": 8, "n_layer": 1, "n_head": 1, "n_positions": 8)";
constexpr const char* kMarian =
    R"("vocab_size": 11, "d_model": 8, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 1,
       "decoder_attention_heads": 1, "encoder_ffn_dim": 8, "decoder_ffn_dim": 8, "activation_function": "swish", "dropout": 0.1,
       "max_position_embeddings": 8, "eos_token_id": 1, "decoder_start_token_id": 10, "pad_token_id": 10)";

// Every kind of model that can be verified; an input's part "model" begins with the number of one.
struct Kind {
  const char *type, *architecture, *settings;
};
constexpr Kind kKinds[] = {{"bert", "BertModel", kBert},
                           {"bert", "BertForMaskedLM", kBert},
                           {"bert", "BertForPreTraining", kBert},
                           {"bert", "BertForNextSentencePrediction", kBert},
                           {"bert", "BertForSequenceClassification", kBert},
                           {"bert", "BertForTokenClassification", kBert},
                           {"bert", "BertForQuestionAnswering", kBert},
                           {"roberta", "RobertaForMaskedLM", kBert},
                           {"distilbert", "DistilBertModel", kDistilBert},
                           {"distilbert", "DistilBertForSequenceClassification", kDistilBert},
                           {"gpt2", "GPT2Model", kGpt2},
                           {"gpt2", "GPT2LMHeadModel", kGpt2},
                           {"gpt2", "GPT2ForSequenceClassification", kGpt2},
                           {"marian", "MarianMTModel", kMarian},
                           {"bert", "BertForMultipleChoice", kBert},
                           {"gpt2", "GPT2DoubleHeadsModel", kGpt2},
                           {"marian", "MarianModel", kMarian},
                           {"t5", "T5Model", kGpt2}};

Backend& backend() {
  static const std::unique_ptr<Backend> opened = open_backend("cpu", {.threads = 1});
  return *opened;
}

template <class Model>
void save(Model&& model, const fs::path& path) {
  checkpoint::save_hugging_face(path, nn::Parameters(backend(), model, {}), Json::object());
}

void save_bert(const Json& json, const fs::path& path) {
  const models::BertConfig config = models::bert_config(json, "config");
  const std::string& head = config.architecture;
  if (head.ends_with("ForMaskedLM")) return save(models::MaskedLanguageModel(config), path);
  if (head.ends_with("ForPreTraining")) return save(models::BertPretraining(config), path);
  if (head.ends_with("ForNextSentencePrediction")) return save(models::NextSentenceModel(config), path);
  if (head.ends_with("ForSequenceClassification")) return save(models::SequenceClassifier(config), path);
  if (head.ends_with("ForTokenClassification")) return save(models::TokenTagger(config), path);
  if (head.ends_with("ForQuestionAnswering")) return save(models::QuestionAnswerer(config), path);
  save(models::Bert(config, config.distilled() ? models::Bert::Pooler::without : models::Bert::Pooler::with), path);
}

void save_gpt2(const Json& json, const fs::path& path) {
  const models::GPT2Config config = models::gpt2_config(json, "config");
  if (!config.labels.empty()) return save(models::GPT2Classifier(config), path);
  if (json["architectures"][0] == "GPT2LMHeadModel") return save(models::GPT2LanguageModel(config), path);
  save(models::GPT2(config), path);
}

// One tensor of ours may be several of Marian's, one below the other.
void save_marian(const Json& json, const fs::path& path) {
  models::Transformer model(catalogue::marian_config(json, "config"));
  nn::Parameters parameters(backend(), model, {});
  checkpoint::SafetensorsWriter writer;
  for (const nn::Parameters::Entry& entry : parameters.entries()) {
    const std::vector<std::string> names = catalogue::marian_names(entry);
    const auto count = static_cast<std::int64_t>(names.size()), size = entry.parameter->shape.size() / count;
    for (std::int64_t i = 0; i < count; ++i)
      writer.add(names[static_cast<std::size_t>(i)], parameters.value().slice_first(entry.offset + i * size, size));
  }
  fs::create_directories(path);
  writer.write((path / "model.safetensors").string());
}

// Made when it is first asked for.
fs::path folder_of(std::size_t number) {
  const Kind& kind = kKinds[number];
  const fs::path path = folder() / std::to_string(number);
  if (fs::exists(path / "config.json")) return path;
  const Json json = parse_json(fmt::format(R"({{"model_type": "{}", "architectures": ["{}"], {}}})", kind.type,
                                           kind.architecture, kind.settings),
                               "config");
  if (std::string_view(kind.type).ends_with("bert") || kind.type == std::string_view("roberta")) save_bert(json, path);
  if (kind.type == std::string_view("gpt2")) save_gpt2(json, path);
  if (kind.type == std::string_view("marian")) save_marian(json, path);
  fs::create_directories(path);
  write((path.filename() / "config.json").string(), json.dump());
  return path;
}

}  // namespace

void enter(const Input& input) {
  const std::string_view model = input["model"];
  const std::size_t number = model.empty() ? 11 : static_cast<unsigned char>(model[0]) % std::size(kKinds);
  const fs::path path = folder_of(number);
  for (const char* name : {"expected.safetensors", "generation_config.json", "case.json"}) {
    const std::string file = (path.filename() / name).string();
    if (input.has(name))
      write(file, input[name]);
    else
      remove(file);
  }
  attempt([&] { verify::verify(path, backend()).passed(); });
  attempt([&] { verify::verify(path, backend(), {.dtype = DType::bf16, .weights = nn::WeightForm::int8}); });
}

}  // namespace attend::fuzz
