#include "attend/look/inspect/encoder.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "attend/base/error.h"
#include "attend/base/unicode/unicode.h"
#include "attend/look/inspect/candidates.h"
#include "attend/look/inspect/kept_tokens.h"
#include "attend/look/inspect/layer_probe.h"
#include "attend/look/inspect/weights.h"
#include "attend/nn/sequences.h"
#include "attend/ops/embedding.h"
#include "attend/tasks/answerer.h"
#include "attend/tasks/embedder.h"
#include "attend/tasks/tagger.h"
#include "attend/view/collector.h"

namespace attend::look {

namespace {

template <class Model>
class EncoderOf : public InspectedEncoder {
 public:
  EncoderOf(const std::filesystem::path& folder, Backend& backend, DType dtype)
      : encoder_(folder, "look", catalogue::Task::embed, backend, dtype) {}
  const tasks::EncoderReader& reader() const override { return encoder_.reader(); }
  const models::Bert& body() const override { return encoder_.model().body(); }
  nn::Parameters& parameters() override { return encoder_.parameters(); }
  std::string kind() const override {
    if constexpr (std::is_same_v<Model, models::MaskedLanguageModel>) return "masked-lm";
    if constexpr (std::is_same_v<Model, models::SequenceClassifier>) return "classification";
    if constexpr (std::is_same_v<Model, models::TokenTagger>) return "tagging";
    if constexpr (std::is_same_v<Model, models::QuestionAnswerer>) return "answering";
    return "encoder";
  }
  std::string prefix() const override {
    return std::is_same_v<Model, tasks::EncoderBody> ? "" : models::prefix_of(body().config().family);
  }
  Tensor answer(const Tensor& states, const nn::Sequences& texts, const Tensor& rows) const override {
    if constexpr (std::is_same_v<Model, models::SequenceClassifier>)
      return encoder_.model().logits(states, texts);
    else if constexpr (std::is_same_v<Model, models::QuestionAnswerer>)
      return encoder_.model().logits(ops::gather(states.flat_rows(), rows).reshape({1, -1, states.width()}));
    else if constexpr (!std::is_same_v<Model, tasks::EncoderBody>)
      return encoder_.model().logits(ops::gather(states.flat_rows(), rows));  // [M, C] -> [M, choices]
    return {};
  }

 private:
  tasks::EncoderModel<Model> encoder_;
};

std::unique_ptr<InspectedEncoder> open(const std::filesystem::path& folder, Backend& backend, DType dtype) {
  using catalogue::Task;
  const Task task = catalogue::read_config(folder).task;
  if (task == Task::fill) return std::make_unique<EncoderOf<models::MaskedLanguageModel>>(folder, backend, dtype);
  if (task == Task::classify) return std::make_unique<EncoderOf<models::SequenceClassifier>>(folder, backend, dtype);
  if (task == Task::tag) return std::make_unique<EncoderOf<models::TokenTagger>>(folder, backend, dtype);
  if (task == Task::answer) return std::make_unique<EncoderOf<models::QuestionAnswerer>>(folder, backend, dtype);
  return std::make_unique<EncoderOf<tasks::EncoderBody>>(folder, backend, dtype);
}

// Where the question ends: behind the first question mark.
std::size_t end_of_question(const std::string& text) {
  std::size_t end = std::string::npos;
  for (const std::string_view mark : {"?", "\uFF1F"})
    if (const std::size_t at = text.find(mark); at != std::string::npos) end = std::min(end, at + mark.size());
  check(end != std::string::npos, "write a question that ends with a question mark, and behind it the text to look in");
  while (end < text.size() && text[end] == ' ') ++end;
  return end;
}

}  // namespace

EncoderInspector::EncoderInspector(const std::filesystem::path& folder, Backend& backend, DType dtype)
    : encoder_(open(folder, backend, dtype)), backend_(backend) {
  const models::BertConfig& config = encoder_->body().config();
  anatomy_ = anatomy_of(config, encoder_->prefix());
  card_ = {.kind = encoder_->kind(),
           .config = models::bert_json(config),
           .vocabulary = config.vocabulary,
           .parameters = encoder_->parameters().count(),
           .max_tokens = encoder_->reader().longest() - 2,
           .positions = "learned",
           .example = "The animal did not cross the street because it was too tired."};
  if (std::ranges::find(config.labels, "positive") != config.labels.end())
    card_.example = "A warm, funny and quietly moving film.";
  if (card_.kind == "answering")
    card_.example = "What did the animal not cross? The animal did not cross the street because it was too tired.";
  if (card_.kind != "masked-lm") return;
  for (const char* name : {"[MASK]", "<mask>"})
    if (const auto id = encoder_->reader().tokenizer().token_to_id(name); id && card_.mask.empty())
      card_.mask = name, mask_id_ = *id;
  if (!card_.mask.empty())
    card_.example = fmt::format("The animal did not cross the {} because it was tired.", card_.mask);
}

tasks::EncoderText EncoderInspector::encode(const std::string& text) const {
  check_text(text);
  const bool pair = card_.kind == "answering";
  const std::size_t second = pair ? end_of_question(text) : text.size();
  const std::string_view whole = text;
  tasks::EncoderText read = pair ? encoder_->reader().read_all(whole.substr(0, second), whole.substr(second))
                                 : encoder_->reader().read_all(text);
  const auto before = static_cast<std::uint32_t>(count_characters(whole.substr(0, second)));
  for (std::size_t i = read.second.begin; i < read.second.end; ++i)
    read.offsets[i].begin += before, read.offsets[i].end += before;
  check(!pair || read.second.size() > 0, "behind the question there is no text to look in");
  check(static_cast<std::int64_t>(read.ids.size()) <= encoder_->reader().longest(),
        "the text has {} tokens, the model reads only {}", read.ids.size(), encoder_->reader().longest());
  check(!read.ids.empty(), "there is no text");
  return read;
}

EncoderInspector::Read EncoderInspector::reduced(const tasks::EncoderText& text, const Ablation& ablation) {
  Read read{.text = {},
            .kept = kept_tokens(text.ids.size(), ablation.masked),
            .positions = ablation.positions,
            .window = ablation.window};
  for (const std::size_t i : read.kept) read.text.ids.push_back(text.ids[i]), read.text.types.push_back(text.types[i]);
  return read;
}

models::BertInput EncoderInspector::input_of(const Read& read) const {
  const models::BertConfig& config = encoder_->body().config();
  const std::int64_t first = config.counts_positions() ? config.pad + 1 : 0;
  std::vector<std::int32_t> positions, types;
  for (std::size_t i = 0; i < read.kept.size(); ++i) {
    positions.push_back(
        static_cast<std::int32_t>(first + (read.positions ? static_cast<std::int64_t>(read.kept[i]) : 0)));
    types.push_back(read.text.types[i] < config.types ? read.text.types[i] : 0);
  }
  models::BertInput input{{.ids = nn::row_of(backend_, read.text.ids), .positions = nn::row_of(backend_, positions)}};
  if (config.typed()) input.types = nn::row_of(backend_, types);
  return input;
}

std::vector<std::int32_t> EncoderInspector::asked(const Read& read, const tasks::EncoderText& whole) const {
  if (card_.kind == "classification") return {0};
  const auto within = [](const tasks::EncoderText::Range& range, std::size_t i) {
    return i >= range.begin && i < range.end;
  };
  const auto wanted = [&](std::size_t i) {
    if (card_.kind == "tagging") return within(whole.first, i) && !encoder_->reader().continues_word(whole, i);
    if (card_.kind == "answering") return within(whole.second, i);
    return card_.kind == "masked-lm" && whole.ids[i] == mask_id_;
  };
  std::vector<std::int32_t> rows;
  for (std::size_t i = 0; i < read.kept.size(); ++i)
    if (wanted(read.kept[i])) rows.push_back(static_cast<std::int32_t>(i));
  return rows;
}

std::vector<float> EncoderInspector::ask(const Read& read, const std::vector<std::int32_t>& rows, Probe* probe) const {
  Pass pass(backend_, {.probe = probe, .attention_window = read.window});
  const models::BertInput input = input_of(read).in(pass);
  const Tensor states = encoder_->body().states(input);
  if (rows.empty()) return {};
  const Tensor chosen = make_tensor(backend_, {static_cast<std::int64_t>(rows.size())}, DType::i32);
  upload(chosen, rows);
  return download(encoder_->answer(states, input.texts, pass.input(chosen)));
}

std::string EncoderInspector::name_of_choice(std::int32_t id) const {
  if (card_.kind != "masked-lm") return encoder_->body().config().labels.at(static_cast<std::size_t>(id));
  const text::Tokenizer& tokenizer = encoder_->reader().tokenizer();
  const auto token = tokenizer.id_to_token(id);
  if (token && token->starts_with("##")) return std::string(*token);
  return tokenizer.decode(std::span<const std::int32_t>(&id, 1), {.skip_special_tokens = false});
}

InspectedStep EncoderInspector::step_of(std::span<const float> logits, std::size_t candidates) const {
  // Rows of the table beyond the tokenizer's ids stand for nothing.
  if (card_.kind == "masked-lm")
    logits = logits.first(std::min(logits.size(), static_cast<std::size_t>(encoder_->reader().tokenizer().id_limit())));
  InspectedStep step{
      .candidates = candidates_of(
          logits, {.count = candidates, .log_sum = log_sum_of(logits), .allowed = {}, .name = [&](std::int32_t id) {
                     return name_of_choice(id);
                   }})};
  step.chosen = step.candidates.front().id, step.probability = step.candidates.front().probability;
  return step;
}

// BERT's pieces are known by their marks ("##ing"); bytes are shown as the text they come from.
std::vector<std::string> EncoderInspector::labels(const std::string& text, const tasks::EncoderText& read) const {
  std::vector<std::string> result = read.tokens;
  if (!encoder_->body().config().counts_positions()) return result;
  for (const auto& [begin, end] : {read.first, read.second})
    for (std::size_t i = begin; i < end; ++i)
      result[i] = read.offsets[i].begin < read.offsets[i].end ? tasks::characters_of(text, read.offsets[i]) : " ";
  return result;
}

Inspection EncoderInspector::inspect(const std::string& text, const InspectOptions& options) {
  Inspection result;
  const tasks::EncoderText whole = encode(text);
  result.source_ids = whole.ids, result.source = labels(text, whole);
  Read read = reduced(whole, options.ablation);
  const std::vector<std::int32_t> rows = asked(read, whole);
  const std::vector<std::int32_t> fixed = options.prefix.value_or(std::vector<std::int32_t>{});
  check(fixed.empty() || (card_.kind == "masked-lm" && fixed.size() <= rows.size()), "there is no mask {}",
        fixed.size());
  const WeightEdits edits(encoder_->parameters(), options.ablation, anatomy_);

  // Masks that a person has filled are asked one after another; all others at once, as the model is used.
  view::Collector collector;
  for (std::size_t i = 0; i <= fixed.size(); ++i) {
    const bool last = i == fixed.size();
    const std::vector<float> logits = ask(read, rows, last ? &collector : nullptr);
    const std::size_t choices = rows.empty() ? 0 : logits.size() / rows.size();
    const std::size_t end = last ? rows.size() : i + 1;
    if (encoder_->body().config().regression() && !logits.empty()) {
      result.text = fmt::format("{:.4f}", logits[0]);
      break;
    }
    if (card_.kind == "answering") {
      std::vector<std::size_t> places;
      for (const std::int32_t row : rows) places.push_back(read.kept[static_cast<std::size_t>(row)]);
      find_answer(text, whole, places, logits, options.candidates, result);
      break;
    }
    for (std::size_t row = i; row < end; ++row) {
      const std::span<const float> scores = std::span(logits).subspan(row * choices, choices);
      InspectedStep step = step_of(scores, options.candidates);
      step.place = static_cast<std::int64_t>(read.kept[static_cast<std::size_t>(rows[row])]);
      if (!last) {
        check(fixed[i] >= 0 && fixed[i] < encoder_->reader().tokenizer().id_limit(), "there is no token {}", fixed[i]);
        step.chosen = fixed[i];
        const float log_probability =
            scores[static_cast<std::size_t>(fixed[i])] -
            log_sum_of(scores.first(static_cast<std::size_t>(encoder_->reader().tokenizer().id_limit())));
        step.probability = std::exp(log_probability);
        read.text.ids[static_cast<std::size_t>(rows[i])] = fixed[i];
      }
      result.score += std::log(step.probability) / static_cast<float>(rows.size());
      result.target_ids.push_back(step.chosen), result.target.push_back(name_of_choice(step.chosen));
      result.steps.push_back(std::move(step));
    }
  }
  if (card_.kind == "tagging")
    for (InspectedStep& step : result.steps) {
      auto last = static_cast<std::size_t>(step.place);
      step.span = whole.offsets[last];
      while (++last < whole.first.end && encoder_->reader().continues_word(whole, last))
        step.span.end = whole.offsets[last].end;
    }
  describe(text, result);
  for (const Anatomy::Attention& attention : anatomy_.attention)
    result.attention.push_back(spread(attention, collector,
                                      {.rows = read.kept,
                                       .columns = read.kept,
                                       .all_rows = whole.ids.size(),
                                       .all_columns = whole.ids.size(),
                                       .window = read.window}));
  for (SeenAttention& seen : result.attention) seen.marked = marked_in(read);
  return result;
}

// The question of a Longformer that answers, by the places of the whole text. What it makes global besides is its
// window's.
std::vector<std::int32_t> EncoderInspector::marked_in(const Read& read) const {
  const models::GlobalRule rule(encoder_->body().config());
  std::vector<std::int32_t> marked;
  if (rule.question_end < 0) return marked;
  for (const std::int32_t i : rule(read.text.ids))
    marked.push_back(static_cast<std::int32_t>(read.kept[static_cast<std::size_t>(i)]));
  return marked;
}

void EncoderInspector::find_answer(const std::string& text, const tasks::EncoderText& whole,
                                   std::span<const std::size_t> places, std::span<const float> logits,
                                   std::size_t candidates, Inspection& result) const {
  if (places.empty()) return;  // all that could answer is hidden
  const auto middle = logits.begin() + static_cast<std::ptrdiff_t>(places.size());
  const tasks::WindowLogits window{{logits.begin(), middle}, {middle, logits.end()}};
  InspectedStep step;
  for (const tasks::FoundSpan& one : tasks::spans_of(std::span(&window, 1), tasks::AnswerOptions{}.max_tokens)) {
    if (step.candidates.size() == candidates) break;
    const text::Span span{whole.offsets[places[one.first]].begin, whole.offsets[places[one.last]].end};
    if (step.candidates.empty()) step.place = static_cast<std::int64_t>(places[one.first]);
    step.candidates.push_back(
        {static_cast<std::int32_t>(step.candidates.size()), tasks::characters_of(text, span), one.probability, span});
  }
  const Candidate& best = step.candidates.front();
  step.probability = best.probability, step.span = best.span;
  result.score = std::log(step.probability);
  result.target_ids = {best.id}, result.target = {best.text};
  result.steps.push_back(std::move(step));
}

// The answer for a person: the text with its masks filled, the label, the words with their tags, the part that answers.
void EncoderInspector::describe(const std::string& text, Inspection& result) const {
  if ((card_.kind == "classification" || card_.kind == "answering") && !result.steps.empty())
    result.text = fmt::format("{} {}", result.target[0], percent_of(result.steps[0].probability));
  if (card_.kind == "masked-lm") {
    std::vector<std::int32_t> ids = result.source_ids;
    for (const InspectedStep& step : result.steps) ids[static_cast<std::size_t>(step.place)] = step.chosen;
    result.text = encoder_->reader().tokenizer().decode(ids);
  }
  if (card_.kind == "tagging")
    for (const InspectedStep& step : result.steps)
      if (const std::string tag = name_of_choice(step.chosen); tag != "O")
        result.text +=
            fmt::format("{}{} {}", result.text.empty() ? "" : " · ", tasks::characters_of(text, step.span), tag);
}

view::Trace EncoderInspector::trace(const TraceRequest& request) {
  const tasks::EncoderText whole = encode(request.text);
  const std::vector<std::string> tokens = labels(request.text, whole);
  return trace_layer(anatomy_, request, {tokens, tokens}, backend_,
                     [&](Pass& pass) { encoder_->body().states(input_of(reduced(whole, {})).in(pass)); });
}

// A masked language model has a guess for every token, a tagger a tag; a classifier reads the first alone.
Output EncoderInspector::output(const TraceRequest& request) {
  const tasks::EncoderText whole = encode(request.text);
  check(request.token >= 0 && request.token < static_cast<std::int64_t>(whole.ids.size()), "there is no token {}",
        request.token);
  const bool each = card_.kind == "masked-lm" || card_.kind == "tagging";
  const bool regression = encoder_->body().config().regression();
  if (!each && (card_.kind != "classification" || request.token != 0 || regression)) return {};
  const std::vector<float> all = ask(reduced(whole, {}), {static_cast<std::int32_t>(request.token)}, nullptr);
  std::span<const float> logits = all;
  if (card_.kind == "masked-lm")
    logits = logits.first(std::min(logits.size(), static_cast<std::size_t>(encoder_->reader().tokenizer().id_limit())));
  return output_of(logits,
                   {.count = kOutputWords,
                    .log_sum = log_sum_of(logits),
                    .allowed = {},
                    .name = [&](std::int32_t id) { return name_of_choice(id); }},
                   card_.kind + " logits");
}

EncoderStates EncoderInspector::states(const StatesRequest& request) {
  const tasks::EncoderText whole = encode(request.text);
  const std::vector<std::string> names = labels(request.text, whole);
  const std::vector<std::size_t> order = order_of(request, whole.ids.size());
  Read read{.text = {}, .kept = all_of(order.size()), .positions = request.positions};
  EncoderStates result;
  for (const std::size_t i : order) {
    result.tokens.push_back(names[i]);
    read.text.ids.push_back(whole.ids[i]), read.text.types.push_back(whole.types[i]);
  }
  Pass pass(backend_);
  const Tensor states = encoder_->body().states(input_of(read).in(pass));
  result.width = static_cast<std::size_t>(states.width()), result.values = download(states);
  return result;
}

PositionTable EncoderInspector::positions(std::int64_t rows) const {
  const models::BertConfig& config = encoder_->body().config();
  PositionTable table{static_cast<std::size_t>(config.width)};
  const nn::Parameters& parameters = encoder_->parameters();
  std::vector<float> all = parameters.read(
      find_entry(parameters, nn::joined_name(encoder_->prefix(), "embeddings.position_embeddings.weight")));
  // RoBERTa's first rows belong to no place of a text.
  const auto first = static_cast<std::size_t>(config.counts_positions() ? config.pad + 1 : 0);
  all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(first * table.width));
  all.resize(std::min(all.size(), static_cast<std::size_t>(rows) * table.width));
  table.values = std::move(all);
  return table;
}

}  // namespace attend::look
