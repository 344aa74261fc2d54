// GPT-2 on the inputs of a folder under verification: outputs, gradients, searches, and a few steps of training.
#include "attend/models/gpt2.h"
#include "attend/base/error.h"
#include "attend/nn/causal_decoder.h"
#include "attend/train/loop/optimizer.h"
#include "attend/verify/case.h"
#include "attend/verify/recipe.h"

namespace attend::verify {

namespace {

using models::GPT2LanguageModel;

// The model without a head; its names have no prefix.
struct BareGPT2 {
  models::GPT2 gpt2;
  explicit BareGPT2(const models::GPT2Config& config) : gpt2(config) {}
  template <class Visitor>
  void visit(Visitor&& v) {
    gpt2.visit(v);
  }
};

Tensor put_states(VerifyCase& verified, const models::GPT2& body, Pass& pass, const view::Collector& collector) {
  std::vector<Tensor> hidden;
  const Tensor states = body.states(verified.texts(body.config().vocabulary).in(pass), {.hidden = &hidden});
  verified.put_hidden(hidden);
  verified.put("last_hidden_state", states);
  for (std::int64_t layer = 0; layer < body.config().layers; ++layer)
    verified.put_attention(collector, models::GPT2::attention_label(layer), "attention." + std::to_string(layer));
  return states;
}

// What each position should answer: the label behind it, or without labels the token behind it.
std::vector<std::int32_t> labels_of(const VerifyCase& verified, const nn::Sequences& texts, std::int64_t vocabulary) {
  const std::int64_t length = texts.ids.dim(1);
  if (verified.wants("labels"))
    return models::next_tokens(download_ints(verified.labels("labels", vocabulary)), length);
  std::vector<std::int32_t> lengths;
  if (texts.lengths.defined()) lengths = download_ints(texts.lengths);
  return models::next_tokens(download_ints(texts.ids), length, lengths);
}

void put_loss(VerifyCase& verified, const GPT2LanguageModel& model, nn::Parameters& parameters) {
  const std::int64_t vocabulary = model.body().config().vocabulary;
  Pass pass(verified.backend, {.recording = true});
  const nn::Sequences texts = verified.texts(vocabulary).in(pass);
  parameters.start_gradients();
  const Tensor labels = verified.ints(texts.ids.shape(), labels_of(verified, texts, vocabulary));
  const Tensor loss = model.loss(texts, pass.input(labels)).mean;
  verified.put("loss", loss);
  pass.backward(loss);
  parameters.finish_gradients();
  verified.put_gradients(parameters);
}

// What generate() writes behind each prompt, the prompt before it.
void put_search(VerifyCase& verified, const models::GPT2& body, VerifyCase::Search search) {
  const Tensor prompts = verified.ids(verified.wants("prompt") ? "prompt" : "input_ids", body.config().vocabulary);
  check(prompts.rank() == 2, "the prompts are {}, not [texts, tokens]", prompts.shape());
  const std::int64_t count = prompts.dim(0), length = prompts.dim(1);
  check(length < search.longest && search.longest <= body.config().max_length,
        "'{}' has {} tokens, its prompt {}, and the model reads no more than {}", search.name, search.longest, length,
        body.config().max_length);
  search.options.max_lengths.assign(static_cast<std::size_t>(count), search.longest - length);
  Pass pass(verified.backend);
  nn::CausalDecoder decoder(body, pass, prompts, search.options.beams);
  const auto results = decode::beam_search(decoder, search.options);
  const std::vector<std::int32_t> begin = download_ints(prompts);
  std::vector<std::vector<std::int64_t>> rows;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const decode::Hypothesis& best = results[i].at(0);
    const auto first = begin.begin() + static_cast<std::ptrdiff_t>(i) * length;
    rows.emplace_back(first, first + length);
    rows.back().insert(rows.back().end(), best.tokens.begin(), best.tokens.end());
    if (best.finished) rows.back().push_back(search.options.end);
  }
  verified.put_searched(search, rows);
  if (search.options.beams > 1) return;
  Pass again(verified.backend);
  nn::CausalDecoder reader(body, again, prompts, 1);
  verified.put_log_probabilities(search, rows, static_cast<std::size_t>(length), reader);
}

// input_ids are [steps, texts, tokens]: the loss before each step, and the table of tokens after the last.
void put_training(VerifyCase& verified, const GPT2LanguageModel& model, nn::Parameters& parameters) {
  const Json& words = verified.notes["optimizer"];
  const std::string what = (verified.folder / "case.json").string();
  check(words.is_string(), "verify: 'losses' needs 'optimizer' in {}", what);
  const TrainingRecipe recipe = training_recipe(words.text(), what);
  train::Optimizer optimizer(parameters, recipe.optimizer);
  const Tensor all = verified.ids("input_ids", model.body().config().vocabulary);
  check(all.rank() == 3, "input_ids of training are {}, not [steps, texts, tokens]", all.shape());
  Pass pass(verified.backend, {.recording = true});
  std::vector<float> losses;
  for (std::int64_t step = 1; step <= all.dim(0); ++step) {
    const Tensor ids = all.slice_first(step - 1, 1).reshape({all.dim(1), all.dim(2)});
    const Tensor labels = verified.ints(ids.shape(), models::next_tokens(download_ints(ids), ids.dim(1)));
    pass.begin({.plan = 1, .seed = static_cast<std::uint64_t>(step)});
    parameters.start_gradients();
    const Tensor loss = model.loss({.ids = pass.input(ids)}, pass.input(labels)).mean;
    losses.push_back(download(loss).at(0));
    pass.backward(loss);
    parameters.finish_gradients();
    optimizer.set_rate(recipe.rate_at(step), step);
    optimizer.update();
  }
  verified.keep("losses", {{all.dim(0)}, losses});
  for (const nn::Parameters::Entry& entry : parameters.entries())
    if (entry.name == "transformer.wte.weight" && verified.wants("final_wte"))
      verified.keep("final_wte", {entry.parameter->shape, parameters.read(entry)});
}

void run_language_model(VerifyCase& verified, const models::GPT2Config& config) {
  GPT2LanguageModel model(config);
  nn::Parameters parameters(verified.backend, model, verified.parameters);
  checkpoint::load_hugging_face(checkpoint::TensorFiles::open(verified.folder), parameters,
                                {.prefix = models::kGPT2Prefix});
  if (verified.wants("losses")) return put_training(verified, model, parameters);
  {
    view::Collector collector;
    Pass pass(verified.backend, {.probe = &collector});
    const Tensor states = put_states(verified, model.body(), pass, collector);
    verified.put("logits", model.body().logits(states));
  }
  if (verified.wants_losses()) put_loss(verified, model, parameters);
  for (const VerifyCase::Search& search : verified.searches(config.vocabulary))
    put_search(verified, model.body(), search);
}

void run_bare(VerifyCase& verified, const models::GPT2Config& config) {
  BareGPT2 model(config);
  nn::Parameters parameters(verified.backend, model, verified.parameters);
  checkpoint::load_hugging_face(checkpoint::TensorFiles::open(verified.folder), parameters, {});
  view::Collector collector;
  Pass pass(verified.backend, {.probe = &collector});
  put_states(verified, model.gpt2, pass, collector);
}

void run_classifier(VerifyCase& verified, const models::GPT2Config& config) {
  models::GPT2Classifier model(config);
  nn::Parameters parameters(verified.backend, model, verified.parameters);
  checkpoint::load_hugging_face(checkpoint::TensorFiles::open(verified.folder), parameters,
                                {.prefix = models::kGPT2Prefix});
  // The last token that is not padding: transformers looks at the ids for it, not at the mask.
  const nn::Sequences texts = verified.texts(config.vocabulary);
  const std::vector<std::int32_t> ids = download_ints(texts.ids);
  const std::int64_t length = texts.ids.dim(1);
  std::vector<std::int32_t> last;
  for (std::int64_t row = 0; row < texts.ids.dim(0); ++row) {
    std::int64_t at = length - 1;
    while (at > 0 && ids[static_cast<std::size_t>(row * length + at)] == config.pad) --at;
    last.push_back(static_cast<std::int32_t>(row * length + at));
  }
  const Tensor rows = verified.ints({texts.ids.dim(0)}, last);
  {
    view::Collector collector;
    Pass pass(verified.backend, {.probe = &collector});
    put_states(verified, model.body(), pass, collector);
    verified.put("logits", model.logits(texts.in(pass), pass.input(rows)));
  }
  if (!verified.wants("labels") || !verified.wants_losses()) return;
  Pass pass(verified.backend, {.recording = true});
  parameters.start_gradients();
  const Tensor labels = verified.labels("labels", static_cast<std::int64_t>(config.labels.size()));
  const Tensor loss = model.loss(texts.in(pass), pass.input(rows), pass.input(labels)).mean;
  verified.put("loss", loss);
  pass.backward(loss);
  parameters.finish_gradients();
  verified.put_gradients(parameters);
}

}  // namespace

void run_gpt2_case(VerifyCase& verified, const catalogue::ModelConfig& described) {
  const std::string& architecture = described.architecture;
  models::GPT2Config config = models::gpt2_config(verified.config, verified.config_name());
  config.embedding_dropout = config.attention_dropout = config.dropout = 0;
  if (architecture == "GPT2LMHeadModel") return run_language_model(verified, config);
  if (architecture == "GPT2ForSequenceClassification") return run_classifier(verified, config);
  check(architecture == "GPT2Model",
        "verify: {} has the architecture '{}'; known are GPT2Model, GPT2LMHeadModel and GPT2ForSequenceClassification",
        verified.config_name(), architecture);
  run_bare(verified, config);
}

}  // namespace attend::verify
