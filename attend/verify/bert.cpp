// BERT, RoBERTa and DistilBERT with every head, on the inputs of a folder under verification.
#include <memory>
#include <utility>
#include <vector>

#include "attend/base/error.h"
#include "attend/models/bert_heads.h"
#include "attend/tasks/reranker.h"
#include "attend/verify/case.h"

namespace attend::verify {

namespace {

// The model without a head; its names have no prefix.
struct BareBert {
  models::Bert bert;
  explicit BareBert(const models::BertConfig& config)
      : bert(config, config.distilled() ? models::Bert::Pooler::without : models::Bert::Pooler::with) {}
  const models::Bert& body() const { return bert; }
  template <class Visitor>
  void visit(Visitor&& v) {
    bert.visit(v);
  }
};

// The tokens that the file marks, which see all others and are seen by them; none where it marks none.
std::shared_ptr<const ops::GlobalPositions> marked_tokens(const VerifyCase& verified, const models::BertConfig& config,
                                                          const Tensor& ids) {
  if (!verified.wants("global_attention_mask")) {
    if (config.family != models::BertFamily::longformer || !verified.first_is_global()) return {};
    const std::vector<std::vector<std::int32_t>> first(static_cast<std::size_t>(ids.dim(0)), {0});
    return std::make_shared<const ops::GlobalPositions>(
        verified.backend, ops::global_lists(ops::AttentionLayout::padded(ids.dim(0), ids.dim(1)), first));
  }
  check(config.family == models::BertFamily::longformer, "{}: global_attention_mask is for a Longformer",
        verified.expected.source());
  const checkpoint::StoredTensor& stored = verified.stored("global_attention_mask");
  check(stored.shape == ids.shape() && !is_float(stored.type), "{}: global_attention_mask is {}, but input_ids are {}",
        verified.expected.source(), stored.shape, ids.shape());
  const std::vector<std::int64_t> mask = verified.stored_ints("global_attention_mask");
  const auto length = static_cast<std::size_t>(ids.dim(1));
  std::vector<std::vector<std::int32_t>> sets(static_cast<std::size_t>(ids.dim(0)));
  for (std::size_t i = 0; i < mask.size(); ++i)
    if (mask[i]) sets[i / length].push_back(static_cast<std::int32_t>(i % length));
  return std::make_shared<const ops::GlobalPositions>(
      verified.backend, ops::global_lists(ops::AttentionLayout::padded(ids.dim(0), ids.dim(1)), sets));
}

models::BertInput input_of(const VerifyCase& verified, const models::BertConfig& config) {
  models::BertInput input{verified.texts(config.vocabulary)};
  if (verified.wants("token_type_ids") && config.typed()) {
    input.types = verified.ids("token_type_ids", config.types);
    check(input.types.shape() == input.texts.ids.shape(), "{}: token_type_ids are {}, but input_ids are {}",
          verified.expected.source(), input.types.shape(), input.texts.ids.shape());
  }
  const Tensor& ids = input.texts.ids;
  input.globals = marked_tokens(verified, config, ids);
  if (!config.counts_positions()) return input;
  const auto pad = static_cast<std::int32_t>(config.pad);
  check(ids.dim(1) + pad < config.max_length, "{}: texts of {} tokens, but the model has places for {}",
        verified.expected.source(), ids.dim(1), config.max_length - pad - 1);
  input.texts.positions = verified.ints(ids.shape(), models::roberta_positions(download_ints(ids), ids.dim(1), pad));
  return input;
}

// head(model, states, texts) puts what the head answers; loss(model, input, pass) -> f32 [1].
template <class Model, class Head, class Loss>
void run(VerifyCase& verified, const models::BertConfig& config, Head head, Loss loss) {
  Model model(config);
  nn::Parameters parameters(verified.backend, model, verified.parameters);
  checkpoint::load_hugging_face(checkpoint::TensorFiles::open(verified.folder), parameters,
                                {.prefix = models::prefix_of(config.family)});
  const models::BertInput input = input_of(verified, config);
  {
    view::Collector collector;
    Pass pass(verified.backend, {.probe = &collector});
    const models::BertInput read = input.in(pass);
    std::vector<Tensor> hidden;
    const Tensor states = model.body().states(read, &hidden);
    verified.put_hidden(hidden);
    verified.put("last_hidden_state", states);
    for (std::int64_t layer = 0; layer < config.layers; ++layer)
      verified.put_attention(collector, models::Bert::attention_label(layer), "attention." + std::to_string(layer));
    head(model, states, read.texts);
  }
  if (!verified.wants_losses()) return;
  Pass pass(verified.backend, {.recording = true});
  parameters.start_gradients();
  const Tensor value = loss(model, input.in(pass), pass);
  if (!value.defined()) return;
  verified.put("loss", value);
  pass.backward(value);
  parameters.finish_gradients();
  verified.put_gradients(parameters);
}

void run_bare(VerifyCase& verified, const models::BertConfig& config) {
  run<BareBert>(
      verified, config,
      [&](const BareBert& model, const Tensor& states, const nn::Sequences& texts) {
        if (verified.wants("pooler_output") && !config.distilled())
          verified.put("pooler_output", model.bert.pooled(states, texts));
      },
      [](const BareBert&, const models::BertInput&, Pass&) { return Tensor(); });
}

void run_pretraining(VerifyCase& verified, const models::BertConfig& config) {
  using Model = models::BertPretraining;
  run<Model>(
      verified, config,
      [&](const Model& model, const Tensor& states, const nn::Sequences& texts) {
        verified.put("prediction_logits", model.token_logits(states));
        verified.put("seq_relationship_logits", model.next_sentence_logits(states, texts));
      },
      [&](const Model& model, const models::BertInput& input, Pass& pass) {
        return model
            .loss(input, pass.input(verified.labels("labels", config.vocabulary)),
                  pass.input(verified.labels("next_sentence_label", 2)))
            .sum;
      });
}

void run_answers(VerifyCase& verified, const models::BertConfig& config) {
  using Model = models::QuestionAnswerer;
  run<Model>(
      verified, config,
      [&](const Model& model, const Tensor& states, const nn::Sequences&) {
        const Tensor logits = model.logits(states);  // [2, B, T]
        const Shape shape{logits.dim(1), logits.dim(2)};
        verified.put("start_logits", logits.slice_first(0, 1).reshape(shape));
        verified.put("end_logits", logits.slice_first(1, 1).reshape(shape));
      },
      [&](const Model& model, const models::BertInput& input, Pass& pass) {
        const std::int64_t length = input.texts.ids.dim(1);
        std::vector<std::int32_t> both = download_ints(verified.labels("start_positions", length));
        const std::vector<std::int32_t> ends = download_ints(verified.labels("end_positions", length));
        check(both.size() == ends.size(), "{}: {} start_positions, but {} end_positions", verified.expected.source(),
              both.size(), ends.size());
        both.insert(both.end(), ends.begin(), ends.end());
        const Shape shape{2, static_cast<std::int64_t>(ends.size())};
        return model.loss(input, pass.input(verified.ints(shape, both))).mean;
      });
}

// How many answers the head chooses between.
template <class Model>
std::int64_t classes_of(const models::BertConfig& config) {
  if constexpr (std::is_same_v<Model, models::MaskedLanguageModel>)
    return config.vocabulary;
  else if constexpr (std::is_same_v<Model, models::NextSentenceModel>)
    return 2;
  else
    return static_cast<std::int64_t>(config.labels.size());
}

// What a cross-encoder makes of its logits [B, 1]: one number a pair.
void put_scores(VerifyCase& verified, const models::SequenceClassifier& model, const Tensor& states,
                const nn::Sequences& texts) {
  if (!verified.wants("scores")) return;
  const tasks::RelevanceScore relevance(verified.config, model.body().config().labels.size(), verified.config_name());
  ProducedTensor scores{{texts.ids.dim(0)}, {}, {}};
  const std::vector<float> logits = download(model.logits(states, texts));
  const std::size_t labels = logits.size() / static_cast<std::size_t>(texts.ids.dim(0));
  for (std::size_t at = 0; at < logits.size(); at += labels)
    scores.floats.push_back(relevance(
        {logits.begin() + static_cast<std::ptrdiff_t>(at), logits.begin() + static_cast<std::ptrdiff_t>(at + labels)}));
  verified.keep("scores", scores);
}

// Those whose loss is a mean over labels.
template <class Model>
void run_labels(VerifyCase& verified, const models::BertConfig& config) {
  run<Model>(
      verified, config,
      [&](const Model& model, const Tensor& states, const nn::Sequences& texts) {
        if constexpr (std::is_same_v<Model, models::SequenceClassifier>) put_scores(verified, model, states, texts);
        if constexpr (requires { model.logits(states, texts); })
          verified.put("logits", model.logits(states, texts));
        else
          verified.put("logits", model.logits(states));
      },
      [&](const Model& model, const models::BertInput& input, Pass& pass) -> Tensor {
        const bool numbers = std::is_same_v<Model, models::SequenceClassifier> && config.regression();
        const Tensor labels =
            pass.input(numbers ? verified.input("labels") : verified.labels("labels", classes_of<Model>(config)));
        if constexpr (std::is_same_v<Model, models::SequenceClassifier>) {
          check(labels.size() == input.texts.ids.dim(0), "{}: labels are {}, but there are {} texts",
                verified.expected.source(), labels.shape(), input.texts.ids.dim(0));
          return model.loss(input, labels);
        } else {
          return model.loss(input, labels).mean;
        }
      });
}

}  // namespace

void run_bert_case(VerifyCase& verified, const catalogue::ModelConfig& described) {
  const std::string& architecture = described.architecture;
  models::BertConfig config = models::bert_config(verified.config, verified.config_name());
  config.dropout = config.attention_dropout = config.head_dropout = 0;
  // config.json may name one of the two heads that the file has.
  if (architecture.ends_with("ForPreTraining") || verified.wants("prediction_logits"))
    return run_pretraining(verified, config);
  if (architecture.ends_with("ForMaskedLM")) return run_labels<models::MaskedLanguageModel>(verified, config);
  if (architecture.ends_with("ForNextSentencePrediction"))
    return run_labels<models::NextSentenceModel>(verified, config);
  if (architecture.ends_with("ForSequenceClassification"))
    return run_labels<models::SequenceClassifier>(verified, config);
  if (architecture.ends_with("ForTokenClassification")) return run_labels<models::TokenTagger>(verified, config);
  if (architecture.ends_with("ForQuestionAnswering")) return run_answers(verified, config);
  check(
      architecture.ends_with("Model"),
      "verify: {} has the architecture '{}'; known are Model, ForMaskedLM, ForPreTraining, ForNextSentencePrediction, "
      "ForSequenceClassification, ForTokenClassification and ForQuestionAnswering of Bert, Roberta and DistilBert",
      verified.config_name(), architecture);
  run_bare(verified, config);
}

}  // namespace attend::verify
