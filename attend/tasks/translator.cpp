#include "attend/tasks/translator.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/limits.h"
#include "attend/base/paths.h"
#include "attend/base/unicode/unicode.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/checkpoint/weight_files.h"
#include "attend/decode/beam_search.h"
#include "attend/decode/sample.h"
#include "attend/models/transformer.h"
#include "attend/tasks/token_strings.h"
#include "attend/tensor/backend.h"
#include "attend/view/collector.h"

namespace attend::tasks {

namespace {

using decode::Hypothesis;

std::int32_t special(const text::Tokenizer& tokenizer, const char* token) {
  const auto id = tokenizer.token_to_id(token);
  check(id.has_value(), "translator: the tokenizer has no token {}", token);
  return *id;
}

// Rows of ids side by side, filled up with pad, and their lengths.
nn::Sequences padded(Backend& backend, const std::vector<std::vector<std::int32_t>>& rows, std::int32_t pad) {
  std::size_t longest = 0;
  for (const auto& row : rows) longest = std::max(longest, row.size());
  std::vector<std::int32_t> ids, lengths;
  for (const auto& row : rows) {
    ids.insert(ids.end(), row.begin(), row.end());
    ids.resize(ids.size() + longest - row.size(), pad);
    lengths.push_back(static_cast<std::int32_t>(row.size()));
  }
  const auto count = static_cast<std::int64_t>(rows.size());
  nn::Sequences result{.ids = make_tensor(backend, {count, static_cast<std::int64_t>(longest)}, DType::i32),
                       .lengths = make_tensor(backend, {count}, DType::i32)};
  upload(result.ids, ids), upload(result.lengths, lengths);
  return result;
}

// A translation is one line, whatever the model wrote.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

void check_options(const TranslateOptions& options) {
  check(options.beams >= 1 && options.beams <= limits::kMostBeams,
        "translate: the number of beams must be 1 to {}, not {}", limits::kMostBeams, options.beams);
  check(options.n_best >= 1 && options.n_best <= limits::kMostSamples, "translate: n-best must be 1 to {}, not {}",
        limits::kMostSamples, options.n_best);
  check(options.sample || options.n_best <= options.beams,
        "translate: {} beams cannot give {} translations; take --beams {}", options.beams, options.n_best,
        options.n_best);
  check(options.batch >= 1, "translate: a batch has at least 1 sentence, not {}", options.batch);
  check(options.alpha <= 10, "translate: alpha must be 0 to 10, not {}", options.alpha);
}

// For who reads it all spaces are the same: the French one before a question mark is narrow, and no line breaks there.
std::string with_plain_spaces(std::string text) {
  for (const std::string_view space : {"\u00a0", "\u202f", "\u2009"})
    for (std::size_t at = text.find(space); at != std::string::npos; at = text.find(space, at + 1))
      text.replace(at, space.size(), " ");
  return text;
}

}  // namespace

Translator::Translator(const models::Seq2Seq& model, const text::Tokenizer& tokenizer, Backend& backend,
                       std::optional<std::int32_t> start, SearchDefaults defaults)
    : model_(model),
      tokenizer_(tokenizer),
      backend_(backend),
      pad_(special(tokenizer, kPadToken)),
      start_(start ? *start : special(tokenizer, kStartToken)),
      end_(special(tokenizer, kEndToken)),
      defaults_(std::move(defaults)),
      suppressed_{pad_, start_} {
  suppressed_.insert(suppressed_.end(), defaults_.never.begin(), defaults_.never.end());
  check(tokenizer.id_limit() <= model.vocabulary(),
        "translator: the tokenizer has ids up to {}, the model only {} tokens", tokenizer.id_limit() - 1,
        model.vocabulary());
  if (const auto unknown = tokenizer.token_to_id(kUnknownToken)) suppressed_.push_back(*unknown);
  // Rows of the embedding that stand for nothing.
  for (auto id = static_cast<std::int32_t>(tokenizer.id_limit()); id < model.vocabulary(); ++id)
    suppressed_.push_back(id);
}

std::vector<Translator::Source> Translator::read(std::span<const std::string> lines,
                                                 const TranslateOptions& options) const {
  const auto warn = [&](const std::string& message) {
    if (options.warn) options.warn(message);
  };
  const auto most = static_cast<std::size_t>(model_.max_length() - 1);
  std::vector<Source> sources;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::int64_t number = options.first_line + static_cast<std::int64_t>(i);
    std::string mended;
    std::string_view line = lines[i];
    if (find_invalid_utf8(line)) {
      mended = replace_invalid_utf8(line);
      line = mended;
      warn(fmt::format("line {} is not UTF-8; the wrong bytes were replaced", number));
    }
    line = without_outer_space(line);
    if (line.empty()) continue;
    std::vector<std::int32_t> ids = tokenizer_.encode_ids(line, {.add_special_tokens = false});
    if (ids.size() > most) {
      warn(fmt::format("line {} has {} tokens and was cut to the {} the model can read", number, ids.size(), most));
      ids.resize(most);
    }
    ids.push_back(end_);
    sources.push_back({i, std::move(ids)});
  }
  return sources;
}

std::vector<std::vector<Hypothesis>> Translator::search(std::span<const Source> batch,
                                                        const TranslateOptions& options) const {
  std::vector<std::vector<std::int32_t>> rows;
  std::vector<std::int64_t> max_lengths;
  std::vector<std::uint32_t> numbers;
  for (const Source& source : batch) {
    rows.push_back(source.ids);
    max_lengths.push_back(longest_for(source.ids.size()));
    numbers.push_back(static_cast<std::uint32_t>(options.first_line + static_cast<std::int64_t>(source.line)));
  }
  Pass pass(backend_);
  const std::int64_t group = options.sample ? options.n_best : options.beams;
  const auto model = model_.start(pass, padded(backend_, rows, pad_), group);
  if (options.sample)
    return decode::sample(*model, decode::greedy_at_zero({.temperature = options.temperature,
                                                          .top_k = options.top_k,
                                                          .seed = options.seed,
                                                          .samples = options.n_best,
                                                          .alpha = options.alpha < 0 ? 0.6f : options.alpha,
                                                          .start = start_,
                                                          .end = end_,
                                                          .suppressed = suppressed_,
                                                          .max_lengths = std::move(max_lengths),
                                                          .numbers = std::move(numbers)}));
  return decode::beam_search(*model, beam_options(options, std::move(max_lengths)));
}

// Different tokens may be the same text; of those the best one stays. At most n_best are left.
void Translator::drop_doubles(std::vector<Hypothesis>& hypotheses, const TranslateOptions& options) const {
  if (options.sample) return;
  std::set<std::string> seen;
  std::erase_if(hypotheses, [&](const Hypothesis& hypothesis) {
    return !seen.insert(with_plain_spaces(one_line(tokenizer_.decode(hypothesis.tokens)))).second;
  });
  if (static_cast<std::int64_t>(hypotheses.size()) > options.n_best)
    hypotheses.resize(static_cast<std::size_t>(options.n_best));
}

std::int64_t Translator::longest_for(std::size_t tokens) const {
  const std::int64_t most = 2 * (static_cast<std::int64_t>(tokens) - 1) + 50;
  const std::int64_t told = defaults_.max_length > 1 ? defaults_.max_length - 1 : most;  // without the start
  return std::min({model_.max_length(), most, told});
}

decode::BeamOptions Translator::beam_options(const TranslateOptions& options,
                                             std::vector<std::int64_t> max_lengths) const {
  const bool own = options.alpha < 0;
  return {.beams = options.beams,
          .penalty = own ? defaults_.penalty : decode::LengthPenalty::wu,
          .alpha = own ? defaults_.alpha : options.alpha,
          .start = start_,
          .end = end_,
          .suppressed = suppressed_,
          .max_lengths = std::move(max_lengths),
          .results = options.n_best > 1 ? options.beams : 1};
}

Translation Translator::translation_of(const Hypothesis& hypothesis) const {
  return {one_line(tokenizer_.decode(hypothesis.tokens)), hypothesis.score, hypothesis.finished};
}

std::optional<std::vector<std::int32_t>> Translator::tokens_of(const std::string& line) const {
  std::vector<Source> sources = read(std::span(&line, 1), {});
  if (sources.empty()) return std::nullopt;
  return std::move(sources.front().ids);
}

std::unique_ptr<Translator::Search> Translator::begin(const std::vector<std::vector<std::int32_t>>& sentences,
                                                      const TranslateOptions& asked, Translated translated) const {
  const TranslateOptions options = resolved(asked);
  check_options(options);
  std::unique_ptr<Search> search(new Search(backend_));
  std::vector<std::int64_t> max_lengths;
  for (const std::vector<std::int32_t>& sentence : sentences) max_lengths.push_back(longest_for(sentence.size()));
  search->options_ = beam_options(options, std::move(max_lengths));
  search->model_ = model_.start(search->pass_, padded(backend_, sentences, pad_), options.beams);
  const bool looks = options.attention && !model_.alignment_label().empty();
  search->search_ = std::make_unique<decode::BeamSearch>(
      *search->model_, search->options_,
      [this, options, looks, read = looks ? sentences : std::vector<std::vector<std::int32_t>>{},
       heard = std::move(translated)](std::size_t sentence, std::vector<Hypothesis> results) {
        if (options.n_best > 1) drop_doubles(results, options);
        std::vector<TranslatedLine> lines(1);
        for (const Hypothesis& result : results) lines[0].translations.push_back(translation_of(result));
        if (looks)
          for (std::size_t rank = 0; rank < results.size(); ++rank)
            look(std::vector<Source>{{.line = 0, .ids = read[sentence]}}, {results}, rank, lines);
        heard(sentence, std::move(lines[0].translations));
      });
  return search;
}

// Whatever the tokenizer's decoder does to spaces, the text of a token is what the decoded text gains by it.
void Translator::look(std::span<const Source> batch, const std::vector<std::vector<Hypothesis>>& hypotheses,
                      std::size_t rank, std::vector<TranslatedLine>& lines) const {
  std::vector<std::size_t> who;
  std::vector<std::vector<std::int32_t>> sources, targets;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (rank >= hypotheses[i].size()) continue;
    who.push_back(i);
    sources.push_back(batch[i].ids);
    targets.push_back({start_});
    const Hypothesis& hypothesis = hypotheses[i][rank];
    // The last token of a sentence that was cut is never fed back.
    const auto fed = static_cast<std::ptrdiff_t>(hypothesis.tokens.size()) - (hypothesis.finished ? 0 : 1);
    targets.back().insert(targets.back().end(), hypothesis.tokens.begin(), hypothesis.tokens.begin() + fed);
  }
  if (who.empty()) return;
  view::Collector collector(model_.alignment_label());
  model_.show(collector, padded(backend_, sources, pad_), padded(backend_, targets, pad_));
  const view::AttentionWeights& seen = collector.at(model_.alignment_label());
  const auto columns = static_cast<std::size_t>(seen.shape[3]);
  for (std::size_t i = 0; i < who.size(); ++i) {
    const Hypothesis& hypothesis = hypotheses[who[i]][rank];
    view::AttentionMap& map = lines[batch[who[i]].line].translations[rank].attention;
    map.source = token_strings(tokenizer_, std::span(sources[i]).first(sources[i].size() - 1));
    map.source.push_back(fmt::format(" {}", kEndToken));
    map.target = token_strings(tokenizer_, hypothesis.tokens);
    if (hypothesis.finished) map.target.push_back(fmt::format(" {}", kEndToken));
    const std::vector<float> weights = seen.matrix(static_cast<std::int64_t>(i));
    for (std::size_t t = 0; t < map.target.size(); ++t) {
      const auto row = weights.begin() + static_cast<std::ptrdiff_t>(t * columns);
      map.weights.insert(map.weights.end(), row, row + static_cast<std::ptrdiff_t>(map.source.size()));
    }
  }
}

std::vector<SelfAttention> Translator::self_attention(const std::string& line) const {
  std::vector<SelfAttention> result;
  const std::vector<Source> sources = read(std::span(&line, 1), {});
  if (sources.empty()) return result;
  const std::vector<std::int32_t>& ids = sources.front().ids;
  view::AttentionMap empty;
  empty.source = token_strings(tokenizer_, std::span(ids).first(ids.size() - 1));
  empty.source.push_back(fmt::format(" {}", kEndToken));
  empty.target = empty.source;

  view::Collector collector;
  model_.show(collector, padded(backend_, {ids}, pad_), padded(backend_, {{start_}}, pad_));
  for (std::int64_t layer = 0;; ++layer) {
    const auto found = collector.all().find(fmt::format("encoder.layers.{}.self_attn", layer));
    if (found == collector.all().end()) return result;
    for (std::int64_t head = 0; head < found->second.shape[1]; ++head) {
      result.push_back({layer, head, empty});
      result.back().map.weights = found->second.matrix(0, head);
    }
  }
}

TranslateOptions Translator::resolved(TranslateOptions options) const {
  if (options.beams == 0) options.beams = defaults_.beams;
  return options;
}

std::vector<TranslatedLine> Translator::translate(std::span<const std::string> lines,
                                                  const TranslateOptions& asked) const {
  const TranslateOptions options = resolved(asked);
  check_options(options);
  const WithoutTuning hurry(backend_);  // every batch has other sizes, each of which would be raced for
  std::vector<Source> sources = read(lines, options);
  std::stable_sort(sources.begin(), sources.end(),
                   [](const Source& a, const Source& b) { return a.ids.size() < b.ids.size(); });
  std::vector<TranslatedLine> results(lines.size());
  const auto size = static_cast<std::size_t>(options.batch);
  for (std::size_t begin = 0; begin < sources.size(); begin += size) {
    if (options.stop && options.stop()) {
      std::size_t missing = lines.size();
      for (std::size_t i = begin; i < sources.size(); ++i) missing = std::min(missing, sources[i].line);
      results.resize(missing);
      break;
    }
    if (options.only && !options.only(begin / size)) continue;
    const std::span<const Source> batch = std::span(sources).subspan(begin, std::min(size, sources.size() - begin));
    std::vector<std::vector<Hypothesis>> hypotheses = search(batch, options);
    if (options.n_best > 1)
      for (std::vector<Hypothesis>& each : hypotheses) drop_doubles(each, options);
    for (std::size_t i = 0; i < batch.size(); ++i)
      for (const Hypothesis& hypothesis : hypotheses[i])
        results[batch[i].line].translations.push_back(translation_of(hypothesis));
    if (options.attention && !model_.alignment_label().empty())
      for (std::size_t rank = 0; rank < static_cast<std::size_t>(options.n_best); ++rank)
        look(batch, hypotheses, rank, results);
    if (options.done) options.done(static_cast<std::int64_t>(batch.size()));
  }
  return results;
}

LoadedTranslator::~LoadedTranslator() = default;

LoadedTranslator::LoadedTranslator(const std::filesystem::path& folder, const catalogue::ModelConfig& config,
                                   Backend& backend, const nn::ModelFormat& format)
    : tokenizer(text::Tokenizer::load(folder)),
      model(config.entry->translator.make(config.json, config.path)),
      parameters(backend, model->parameters(), checkpoint::run_options(folder, format)),
      translator(*model, tokenizer.fit(model->vocabulary(), folder.string()), backend,
                 config.entry->translator.start(config.json, tokenizer, config.path),
                 config.entry->generation_config ? search_defaults(folder, config.json, model->vocabulary())
                                                 : SearchDefaults()) {
  config.entry->translator.load(checkpoint::open_weights(folder), parameters);
  model->place(backend, format.dtype);
}

std::unique_ptr<LoadedTranslator> load_translator(const std::filesystem::path& folder, Backend& backend,
                                                  const nn::ModelFormat& format) {
  check(path_exists(folder / "config.json"), "model: {} is not a translator's folder: it has no config.json",
        folder.string());
  const catalogue::ModelConfig config = catalogue::read_config(folder, catalogue::Task::translate);
  return std::make_unique<LoadedTranslator>(folder, config, backend, format);
}

}  // namespace attend::tasks
