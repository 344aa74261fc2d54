// attend evaluate for models that write and guess: translators, GPT-2, BERT.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/lines.h"
#include "attend/base/progress.h"
#include "attend/base/random.h"
#include "attend/base/terminal.h"
#include "attend/base/unicode/unicode.h"
#include "attend/cli/support/evaluation.h"
#include "attend/cli/support/line_input.h"
#include "attend/metrics/bleu.h"
#include "attend/metrics/chrf.h"
#include "attend/metrics/unicode.h"
#include "attend/ops/embedding.h"
#include "attend/ops/reduce.h"
#include "attend/ops/softmax.h"
#include "attend/tasks/fill.h"
#include "attend/tasks/generator.h"
#include "attend/tasks/translator.h"

namespace attend::cli {

namespace {

std::vector<std::string> lines_of(const std::string& path, const Streams& streams) {
  LineInput input({.files = {path}}, streams.in);
  std::vector<std::string> lines = input.next_lines(std::numeric_limits<std::int64_t>::max());
  check(!lines.empty(), "evaluate: {} is empty", path);
  return lines;
}

// Per segment, all references.
std::vector<std::vector<std::string>> references_of(const EvaluatedModel& model, std::size_t lines) {
  std::vector<std::vector<std::string>> references(lines);
  for (std::size_t file = 1; file < model.options.data.size(); ++file) {
    std::vector<std::string> read = lines_of(model.options.data[file], model.streams);
    check(read.size() == lines, "evaluate: {} has {} lines but {} has {}", model.options.data[0], lines,
          model.options.data[file], read.size());
    for (std::size_t i = 0; i < lines; ++i) {
      if (const auto byte = find_invalid_utf8(read[i]))
        fail("evaluate: {}, line {}: not UTF-8 at byte {}", model.options.data[file], i + 1, *byte + 1);
      references[i].emplace_back(metrics::strip_right(read[i]));
    }
  }
  return references;
}

std::vector<std::string> translations_of(const EvaluatedModel& model, const std::vector<std::string>& source) {
  const auto loaded = tasks::load_translator(model.options.model, model.backend, model.options.format());
  Progress progress(model.streams.err, {.label = "translating",
                                        .total = static_cast<std::int64_t>(source.size()),
                                        .terminal = model.streams.err_terminal});
  std::int64_t done = 0;
  tasks::TranslateOptions translate{.beams = model.options.beams, .batch = model.options.batch};
  translate.warn = [&](std::string_view message) { progress.print(fmt::format("attend: {}", printable(message))); };
  translate.done = [&](std::int64_t lines) { progress.update(done += lines); };
  std::vector<std::string> texts;
  for (const tasks::TranslatedLine& line : loaded->translator.translate(source, translate))
    texts.push_back(line.text());
  if (model.streams.err_terminal.interactive) progress.finish();
  return texts;
}

// Texts of a batch with the mask in the place of some tokens.
struct HiddenTokens {
  std::vector<tasks::EncoderText> texts;
  std::vector<std::int32_t> places, labels;  // rows of the packed texts, and what stood there
  std::vector<std::size_t> from;             // which text, by place
};

// A share of each line's tokens is hidden, always the same ones, and at least one.
HiddenTokens hide_tokens(tasks::EncoderBatch batch, std::span<const std::size_t> lines, double share,
                         std::int32_t mask) {
  constexpr std::uint32_t kStream = 0x6d61736b;
  HiddenTokens hidden;
  std::int32_t row = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    tasks::EncoderText text = *batch[i];
    const tasks::EncoderText::Range range = text.first;
    std::vector<std::size_t> tokens;
    for (std::size_t token = range.begin; token < range.end; ++token)
      if (random_word(1, kStream, (static_cast<std::uint64_t>(lines[i]) << 20) + token) / 4294967296.0 < share)
        tokens.push_back(token);
    if (tokens.empty() && range.size() > 0) tokens.push_back(range.begin + lines[i] % range.size());
    for (const std::size_t token : tokens) {
      hidden.places.push_back(row + static_cast<std::int32_t>(token));
      hidden.labels.push_back(std::exchange(text.ids[token], mask));
      hidden.from.push_back(i);
    }
    row += static_cast<std::int32_t>(text.ids.size());
    hidden.texts.push_back(std::move(text));
  }
  return hidden;
}

struct Guesses {
  std::vector<std::int32_t> tokens;
  std::vector<float> losses;
};

Guesses guess(const tasks::Filler& filler, const HiddenTokens& hidden, Backend& backend) {
  std::vector<const tasks::EncoderText*> texts;
  for (const tasks::EncoderText& text : hidden.texts) texts.push_back(&text);
  Pass pass(backend);
  const auto on_device = [&](const std::vector<std::int32_t>& values) {
    const Tensor tensor = make_tensor(backend, {static_cast<std::int64_t>(values.size())}, DType::i32);
    upload(tensor, values);
    return pass.input(tensor);
  };
  const auto& model = filler.encoder().model();
  const models::BertInput input = filler.encoder().reader().pack(texts, backend).in(pass);
  const Tensor states = ops::gather(model.body().states(input).flat_rows(), on_device(hidden.places));
  const Tensor logits = model.logits(states);
  return {download_ints(ops::max(logits, 1).index),
          download(ops::cross_entropy(logits, on_device(hidden.labels)).losses)};
}

}  // namespace

Evaluation evaluate_translation(const EvaluatedModel& model) {
  model.expect_files(2, 100, "the text to translate and its translation, two files with as many lines");
  const std::vector<std::string> source = lines_of(model.options.data[0], model.streams);
  const auto references = references_of(model, source.size());
  const std::vector<std::string> written = translations_of(model, source);
  metrics::Bleu bleu;
  metrics::Chrf chrf, sentence;
  std::int64_t exact = 0;
  Evaluation result;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const std::vector<std::string_view> right(references[i].begin(), references[i].end());
    bleu.add(written[i], right), chrf.add(written[i], right);
    sentence.clear();
    sentence.add(written[i], right);
    const bool same = std::ranges::find(right, metrics::strip_right(written[i])) != right.end();
    exact += same;
    if (same) continue;
    result.worst.push_back({100 - sentence.score(),
                            {{"line", i + 1},
                             {"source", source[i]},
                             {"translation", written[i]},
                             {"reference", references[i][0]},
                             {"chrf", sentence.score()}},
                            fmt::format("line {}, chrF {:.1f}\n  read       {}\n  wrote      {}\n  should be  {}",
                                        i + 1, sentence.score(), source[i], written[i], references[i][0])});
  }
  const double share = static_cast<double>(exact) / static_cast<double>(source.size());
  result.json = {{"sentences", source.size()},
                 {"bleu", bleu.report().score},
                 {"chrf", chrf.report().score},
                 {"exact_match", share},
                 {"signature", metrics::signature_text(bleu.report())}};
  result.text = fmt::format("{} sentences: BLEU {:.1f}, chrF {:.1f}, exactly right {:.2f} %",
                            with_commas(static_cast<std::int64_t>(source.size())), bleu.report().score,
                            chrf.report().score, 100 * share);
  return result;
}

Evaluation evaluate_language_model(const EvaluatedModel& model) {
  model.expect_files(1, 1, "one text");
  constexpr std::size_t kBefore = 24;  // tokens shown in front of one
  const tasks::Generator generator(model.options.model, model.backend, model.options.format());
  Evaluation result;
  const auto text_of = [&](std::span<const std::int32_t> ids) {
    return replace_invalid_utf8(generator.tokenizer().decode(ids));
  };
  // Of all tokens only the worst so far are kept.
  const auto seen = [&](std::span<const std::int32_t> ids, std::size_t token, float nats) {
    auto& worst = result.worst;
    const auto keep = static_cast<std::size_t>(model.options.worst);
    const auto badness = static_cast<double>(nats);
    if (keep == 0 || (worst.size() >= keep && worst.back().badness >= badness)) return;
    const std::size_t begin = token - std::min(token, kBefore);
    const std::string before = text_of(ids.subspan(begin, token - begin)), here = text_of(ids.subspan(token, 1));
    const double probability = std::exp(-badness);
    WorstExample example{
        badness,
        {{"before", before}, {"token", here}, {"probability", probability}},
        fmt::format("{:.2g} was the probability of {} after {}", probability, Json(here).dump(), Json(before).dump())};
    worst.insert(std::ranges::lower_bound(worst, badness, std::ranges::greater{}, &WorstExample::badness),
                 std::move(example));
    if (worst.size() > keep) worst.pop_back();
  };
  const std::string text = read_text(model.options.data[0]);
  const tasks::Perplexity found = generator.perplexity(text, 0, seen);
  // Of models with different tokens only this can be compared.
  const double per_character = found.nats * static_cast<double>(found.tokens) /
                               std::max(1.0, static_cast<double>(count_characters(replace_invalid_utf8(text))));
  result.json = {{"tokens", found.tokens},
                 {"perplexity", found.value()},
                 {"nats", found.nats},
                 {"nats_per_character", per_character}};
  result.text =
      fmt::format("{} tokens: perplexity {:.4f}, {:.4f} nats ({:.4f} bits) a token, {:.4f} nats a character",
                  with_commas(found.tokens), found.value(), found.nats, found.nats / std::log(2.0), per_character);
  return result;
}

Evaluation evaluate_masked(const EvaluatedModel& model) {
  model.expect_files(1, 1, "one text, a line a text");
  const tasks::Filler filler(model.options.model, model.backend, model.options.format());
  const tasks::EncoderReader& reader = filler.encoder().reader();
  const std::int32_t mask = *reader.tokenizer().token_to_id(filler.mask());
  const std::vector<std::string> lines = lines_of(model.options.data[0], model.streams);
  std::vector<tasks::EncoderText> texts;
  for (std::size_t i = 0; i < lines.size(); ++i)
    texts.push_back(reader.read(lines[i], static_cast<std::int64_t>(i) + 1, {}));
  Evaluation result;
  double nats = 0;
  std::int64_t right = 0, hidden = 0;
  tasks::in_batches(texts, model.options.batch, [&](tasks::EncoderBatch batch, std::span<const std::size_t> indices) {
    const HiddenTokens here = hide_tokens(batch, indices, model.options.masked, mask);
    if (here.places.empty()) return;
    const Guesses guesses = guess(filler, here, model.backend);
    for (std::size_t i = 0; i < here.labels.size(); ++i) {
      const auto loss = static_cast<double>(guesses.losses[i]);
      nats += loss, right += guesses.tokens[i] == here.labels[i], ++hidden;
      if (guesses.tokens[i] == here.labels[i]) continue;
      const auto name = [&](std::int32_t id) { return std::string(reader.tokenizer().id_to_token(id).value_or("?")); };
      const std::string said = name(guesses.tokens[i]), truth = name(here.labels[i]);
      const std::string text =
          replace_invalid_utf8(reader.tokenizer().decode(here.texts[here.from[i]].ids, {.skip_special_tokens = false}));
      const std::size_t line = indices[here.from[i]] + 1;
      result.worst.push_back(
          {loss,
           {{"line", line}, {"text", text}, {"guess", said}, {"truth", truth}, {"probability", std::exp(-loss)}},
           fmt::format("line {}: guessed {} where {} is hidden in\n  {}", line, said, truth, text)});
    }
  });
  check(hidden > 0, "evaluate: {} has no tokens to hide", model.options.data[0]);
  nats /= static_cast<double>(hidden);
  const double share = static_cast<double>(right) / static_cast<double>(hidden);
  result.json = {
      {"texts", lines.size()}, {"hidden", hidden}, {"accuracy", share}, {"nats", nats}, {"perplexity", std::exp(nats)}};
  result.text = fmt::format("{} hidden tokens in {} lines: {:.2f} % guessed, perplexity {:.4f}", with_commas(hidden),
                            with_commas(static_cast<std::int64_t>(lines.size())), 100 * share, std::exp(nats));
  return result;
}

}  // namespace attend::cli
