#include "attend/train/recipes/training_examples.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>

#include "attend/base/ranking.h"
#include "attend/base/unicode/unicode.h"
#include "attend/decode/beam_search.h"
#include "attend/nn/sequences.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/embedding.h"
#include "attend/ops/reduce.h"
#include "attend/tasks/token_strings.h"
#include "attend/tasks/translator.h"

namespace attend::train {

namespace {

// A token may be half a character.
std::vector<std::string> valid(std::vector<std::string> tokens) {
  for (std::string& token : tokens) token = replace_invalid_utf8(token);
  return tokens;
}

}  // namespace

std::vector<train::Example::Attention> attention_in(const view::Collector& collector) {
  std::vector<train::Example::Attention> all;
  for (const auto& [label, seen] : collector.all()) all.push_back({label, seen.shape, seen.values});
  return all;
}

train::Example pair_example(const PairExample& parts, std::vector<std::int32_t> source,
                            std::vector<std::int32_t> target) {
  const std::int32_t end = parts.tokenizer.token_to_id(tasks::kEndToken).value();
  std::vector<std::string> read = valid(tasks::token_strings(parts.tokenizer, source)),
                           written = valid(tasks::token_strings(parts.tokenizer, target));
  for (auto* tokens : {&read, &written}) tokens->push_back(fmt::format(" {}", tasks::kEndToken));
  source.push_back(end);
  const auto longest = std::min(parts.model.max_length(), static_cast<std::int64_t>(target.size()) + 10);
  target.insert(target.begin(), parts.start);  // what the decoder reads
  const auto sequence = [&](const std::vector<std::int32_t>& ids) {
    const Tensor length = make_tensor(parts.backend, {1}, DType::i32);
    upload(length, std::vector<std::int32_t>{static_cast<std::int32_t>(ids.size())});
    return nn::Sequences{.ids = nn::row_of(parts.backend, ids), .lengths = length};
  };
  const nn::Sequences sentence = sequence(source);
  view::Collector collector;
  parts.model.show(collector, sentence, sequence(target));
  Pass pass(parts.backend);
  const auto model = parts.model.start(pass, sentence, 1);
  const decode::Hypothesis greedy = decode::beam_search(
      *model,
      {.beams = 1, .start = parts.start, .end = end, .suppressed = parts.suppressed, .max_lengths = {longest}})[0][0];
  return {.read = read,
          .written = written,
          .text = replace_invalid_utf8(parts.tokenizer.decode(greedy.tokens)),
          .attention = attention_in(collector)};
}

std::string token_name(const text::Tokenizer& tokenizer, std::int32_t id) {
  const auto token = tokenizer.id_to_token(id);
  if (!token) return {};
  const std::string text = tokenizer.decode(std::span<const std::int32_t>(&id, 1));
  // Special tokens decode to nothing, pieces of a word to what they are without their mark.
  return replace_invalid_utf8(text.empty() || token->starts_with("##") ? std::string(*token) : text);
}

train::Example masked_example(const models::MaskedLanguageModel& model, const text::Tokenizer& tokenizer,
                              Backend& backend, const MaskedExample& example) {
  const models::BertConfig& config = model.body().config();
  const std::int64_t first = config.counts_positions() ? config.pad + 1 : 0;
  std::vector<std::int32_t> positions;
  for (std::size_t i = 0; i < example.ids.size(); ++i)
    positions.push_back(static_cast<std::int32_t>(first + static_cast<std::int64_t>(i)));
  view::Collector collector;
  Pass pass(backend, {.probe = &collector});
  const models::BertInput input =
      models::BertInput{{.ids = nn::row_of(backend, example.ids), .positions = nn::row_of(backend, positions)}}.in(
          pass);
  const Tensor states = model.body().states(input);
  std::vector<std::int32_t> guessed = example.ids;
  if (!example.places.empty()) {
    const Tensor rows = make_tensor(backend, {static_cast<std::int64_t>(example.places.size())}, DType::i32);
    upload(rows, example.places);
    const Tensor logits = model.logits(ops::gather(states.flat_rows(), pass.input(rows)));
    const std::vector<std::int32_t> best = download_ints(ops::max(logits, 1).index);
    for (std::size_t i = 0; i < best.size(); ++i) guessed[static_cast<std::size_t>(example.places[i])] = best[i];
  }
  std::vector<std::string> read;
  for (const std::int32_t id : example.ids) read.push_back(token_name(tokenizer, id));
  std::vector<std::int32_t> whole = example.ids;
  for (std::size_t i = 0; i < example.places.size(); ++i)
    whole[static_cast<std::size_t>(example.places[i])] = example.labels[i];
  return {.read = read,
          .read_text = replace_invalid_utf8(tokenizer.decode(example.ids, {.skip_special_tokens = false})),
          .written_text = replace_invalid_utf8(tokenizer.decode(whole)),
          .text = replace_invalid_utf8(tokenizer.decode(guessed)),
          .attention = attention_in(collector)};
}

train::Example text_example(const models::LanguageModel& model, const text::Tokenizer& tokenizer, Backend& backend,
                            const std::vector<std::int32_t>& ids) {
  view::Collector collector;
  {
    Pass pass(backend, {.probe = &collector});
    model.states(nn::Sequences{nn::row_of(backend, ids)}.in(pass));
  }
  const std::vector<std::string> tokens = valid(tasks::token_strings(tokenizer, ids));
  const std::size_t half = std::max<std::size_t>(1, ids.size() / 2);
  Pass pass(backend);
  const std::span<const std::int32_t> prompt = std::span(ids).first(half);
  const auto decoder = model.start(pass, nn::row_of(backend, prompt), 1, 0);
  const models::LanguageModel::Facts config = model.facts();
  const std::int64_t longest = std::min<std::int64_t>(24, config.max_length - static_cast<std::int64_t>(half));
  const decode::Hypothesis greedy = decode::beam_search(*decoder, {.beams = 1,
                                                                   .start = prompt.back(),
                                                                   .end = static_cast<std::int32_t>(config.end),
                                                                   .max_lengths = {longest}})[0][0];
  const auto middle = tokens.begin() + static_cast<std::ptrdiff_t>(half);
  return {.read = {tokens.begin(), middle},
          .written = {middle, tokens.end()},
          .text = replace_invalid_utf8(tokenizer.decode(greedy.tokens)),
          .attention = attention_in(collector)};
}

train::Example image_example(const ImageExample& parts, const image::Image& prepared, std::int32_t label) {
  constexpr std::int64_t kShownLabels = 5;
  std::vector<float> values(prepared.pixels.size());
  image::to_floats(prepared, parts.normalization, values.data());
  const Tensor pixels = make_tensor(parts.backend, {1, prepared.height, prepared.width, 3}, DType::f32);
  upload(pixels, values);
  view::Collector collector;
  Pass pass(parts.backend, {.probe = &collector});
  const Tensor read = pass.input(parts.dtype == DType::f32 ? pixels : ops::cast(pixels, parts.dtype));
  std::vector<float> scores = download(parts.model.logits(read));
  softmax(scores);
  const std::vector<std::string>& names = parts.model.labels();
  train::Example example{.written_text = label < 0 ? "" : names.at(static_cast<std::size_t>(label)),
                         .attention = attention_in(collector),
                         .image = train::Example::Image{prepared}};
  for (const std::size_t best : largest(scores, kShownLabels))
    example.image->labels.emplace_back(names[best], scores[best]);
  example.text = example.image->labels.front().first;
  return example;
}

}  // namespace attend::train
