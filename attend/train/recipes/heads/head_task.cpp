#include "attend/train/recipes/heads/head_task.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/base/random.h"
#include "attend/base/unicode/unicode.h"
#include "attend/tasks/answerer.h"
#include "attend/train/recipes/training_examples.h"

namespace attend::train {

namespace {

constexpr std::uint32_t kEpochStream = 0x68656164;

std::uint64_t epoch_seed(std::uint64_t seed, std::uint64_t epoch) {
  const Random4 random = philox(seed, kEpochStream, epoch);
  return std::uint64_t{random.word[1]} << 32 | random.word[0];
}

}  // namespace

HeadTask::HeadTask(const Parts& parts, const HeadTaskOptions& options)
    : parts_(parts),
      options_(options),
      training_batches_(parts.backend, parts.reader, parts.kind),
      validation_batches_(parts.backend, parts.reader, parts.kind) {
  check(!parts.training.empty() && !parts.validation.empty(),
        "training: there are no texts to train or to validate on");
  start_prefetch();
}

void HeadTask::start_prefetch() {
  prefetch_.reset();
  made_ = taken_;
  order_.reset();
  prefetch_ = std::make_unique<Prefetch>([this]() -> Prefetch::Entry {
    HostHeadBatch batch = make(made_ + shard_.rank);
    made_ += shard_.size;
    return {std::move(batch), made_};
  });
}

// Text number n of the run is number n mod N of epoch n / N: batches run on over the ends of epochs.
HostHeadBatch HeadTask::make(std::uint64_t batch) {
  const auto count = static_cast<std::uint64_t>(parts_.training.size()),
             size = static_cast<std::uint64_t>(options_.batch);
  std::vector<const HeadExample*> examples;
  for (std::uint64_t n = batch * size; n < (batch + 1) * size; ++n) {
    if (!order_ || epoch_ != n / count) {
      epoch_ = n / count;
      order_ = std::make_unique<data::Permutation>(count, epoch_seed(options_.seed, epoch_));
    }
    examples.push_back(&parts_.training[(*order_)(n % count)]);
  }
  return make_head_batch(parts_.reader, parts_.kind, examples);
}

std::uint64_t HeadTask::next_batch() {
  const auto [batch, after] = prefetch_->next();
  taken_ = after;
  tokens_ = batch.tokens;
  targets_ =
      static_cast<double>(std::ranges::count_if(batch.targets, [](std::int32_t t) { return t != tasks::kIgnored; }));
  batch_ = training_batches_.put(batch);
  return batch.key;
}

void HeadTask::take_shard(const data::Shard& shard) {
  prefetch_.reset();
  shard_ = shard;
  start_prefetch();
}

Json HeadTask::position() const { return {{"batch", taken_}}; }

void HeadTask::seek(const Json& position) {
  check(position.is_object() && position.contains("batch") && position["batch"].is_number_unsigned(),
        "training: the saved place in the data is damaged");
  taken_ = position["batch"].get<std::uint64_t>();
  start_prefetch();
}

train::Validation HeadTask::evaluate(const std::vector<HeadExample>& examples,
                                     const std::vector<data::LabelledText>& texts, world::World& world) {
  const auto evaluator = make_evaluator(parts_.kind, texts, parts_.head.labels());
  evaluate_examples({parts_.head, parts_.reader, parts_.backend, parts_.kind, static_cast<std::size_t>(options_.batch)},
                    examples, validation_batches_, *evaluator, world);
  train::Validation result = evaluator->result();
  if (options_.select_by_loss) result.score = -result.loss;
  return result;
}

// The evaluator tells of those that are wrong; the others are right.
std::vector<train::ScoredExample> HeadTask::scored_examples() {
  const std::vector<data::LabelledText>& texts = parts_.validation_texts;
  const auto evaluator = make_evaluator(parts_.kind, texts, parts_.head.labels());
  evaluate_examples({parts_.head, parts_.reader, parts_.backend, parts_.kind, static_cast<std::size_t>(options_.batch)},
                    parts_.validation, validation_batches_, *evaluator);
  std::vector<train::ScoredExample> list(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    train::ScoredExample& one = list[i];
    one.input = texts[i].text, one.score = 1, one.should = texts[i].label;
    for (std::size_t word = 0; word < texts[i].words.size(); ++word) {
      one.input += (word ? " " : "") + texts[i].words[word];
      if (texts[i].tags[word] != "O")
        one.should +=
            fmt::format("{}{} {}", one.should.empty() ? "" : " · ", texts[i].words[word], texts[i].tags[word]);
    }
    if (!texts[i].answers.empty()) one.should = texts[i].answers[0].text;
    one.said = one.should;
  }
  for (const EvaluatedText& text : evaluator->details().wrong)
    list[text.source].said = text.said, list[text.source].should = text.should, list[text.source].score = -text.badness;
  return list;
}

// The words with a tag other than O, of those that the model has tokens for.
std::string HeadTask::tagged(const HeadExample& example,
                             const std::function<std::string(std::size_t word)>& tag) const {
  std::string line;
  for (std::size_t word = 0; word < example.words.size(); ++word)
    if (example.words[word] >= 0 && tag(word) != "O")
      line += fmt::format("{}{} {}", line.empty() ? "" : " · ", parts_.validation_texts[example.source].words[word],
                          tag(word));
  return line.empty() ? "all O" : line;
}

HeadTask::Prediction HeadTask::prediction_of(const HeadExample& example, const Tensor& found) const {
  const std::vector<float> logits = download(found);
  const std::vector<std::string>& labels = parts_.head.labels();
  const data::LabelledText& truth = parts_.validation_texts[example.source];
  const auto label_at = [&](std::size_t row) -> const std::string& {
    const auto first = logits.begin() + static_cast<std::ptrdiff_t>(row * labels.size());
    const auto end = first + static_cast<std::ptrdiff_t>(labels.size());
    return labels.at(static_cast<std::size_t>(std::max_element(first, end) - first));
  };
  switch (parts_.kind) {
    case tasks::TargetKind::number:
      return {fmt::format("{:.3f}", logits[0]), truth.label};
    case tasks::TargetKind::label:
      return {label_at(0), labels.at(static_cast<std::size_t>(example.targets.at(0)))};
    case tasks::TargetKind::tags:
      return {tagged(example, [&](std::size_t i) { return label_at(static_cast<std::size_t>(example.words[i])); }),
              tagged(example, [&](std::size_t i) { return truth.tags[i]; })};
    case tasks::TargetKind::span:
      break;
  }
  // [2, 1, T]: of the context's tokens.
  const std::size_t begin = example.text.second.begin;
  const std::size_t end = example.text.second.end;
  const auto context = [&](std::int64_t side) {
    const auto first = logits.begin() + side * found.width();
    return std::vector<float>(first + static_cast<std::ptrdiff_t>(begin), first + static_cast<std::ptrdiff_t>(end));
  };
  const tasks::WindowLogits window{context(0), context(1)};
  const std::vector<tasks::FoundSpan> spans = tasks::spans_of(std::span(&window, 1), tasks::AnswerOptions{}.max_tokens);
  if (spans.empty()) return {};
  const text::Span answer{example.text.offsets[begin + spans[0].first].begin,
                          example.text.offsets[begin + spans[0].last].end};
  return {tasks::characters_of(truth.pair, answer), truth.answers.front().text};
}

// The first short texts of the validation file, with what the head says of them.
std::vector<train::Example> HeadTask::examples(const train::ExampleLimits& limits) {
  const auto [count, tokens] = limits;
  std::vector<train::Example> list;
  for (std::size_t i = 0; i < parts_.validation.size() && list.size() < count; ++i) {
    const HeadExample& example = parts_.validation[i];
    const auto length = static_cast<std::int64_t>(example.text.ids.size());
    if (length > tokens) continue;
    view::Collector collector;
    Pass pass(parts_.backend, {.probe = &collector});
    const HeadExample* alone[] = {&example};
    const tasks::EncoderText* text[] = {&example.text};
    HeadBatches batches(parts_.backend, parts_.reader, parts_.kind);
    // Spans want padded texts; the others nothing that fills up, whose logits would be among these.
    const tasks::HeadBatch batch = parts_.kind == tasks::TargetKind::span
                                       ? batches.put(make_head_batch(parts_.reader, parts_.kind, alone))
                                       : tasks::pack_once(parts_.reader, text, parts_.backend);
    const auto [said, should] = prediction_of(example, parts_.head.logits(batch.in(pass)));
    std::vector<std::string> tokens;
    for (const std::int32_t id : example.text.ids) tokens.push_back(token_name(parts_.reader.tokenizer(), id));
    list.push_back({.read = tokens,
                    .read_text = replace_invalid_utf8(parts_.reader.tokenizer().decode(example.text.ids)),
                    .written_text = replace_invalid_utf8(should),
                    .text = replace_invalid_utf8(said),
                    .attention = attention_in(collector),
                    .rows = length,
                    .columns = length});
  }
  return list;
}

}  // namespace attend::train
