#include "attend/look/inspect/language.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "attend/base/error.h"
#include "attend/look/inspect/candidates.h"
#include "attend/look/inspect/kept_tokens.h"
#include "attend/look/inspect/layer_probe.h"
#include "attend/look/inspect/weights.h"
#include "attend/nn/sequences.h"
#include "attend/tasks/token_strings.h"
#include "attend/view/collector.h"

namespace attend::look {

namespace {

const std::string kPositions = fmt::format("{}.wpe.weight", models::kGPT2Prefix);
constexpr std::int64_t kMostTokens = 64;  // written at once

// GPT-2's layers; a recurrent network has no attention.
Anatomy anatomy_in(const models::LanguageModel& model) {
  const Json config = model.config();
  if (config["model_type"] == "gpt2") return anatomy_of(models::gpt2_config(config, "gpt2"), models::kGPT2Prefix);
  return {.family = "rnn", .width = model.facts().width};
}

bool has_position_table(const models::LanguageModel& model) {
  const Json config = model.config();
  return config["model_type"] == "gpt2" && models::gpt2_config(config, "gpt2").positions == "learned";
}

}  // namespace

LanguageInspector::LanguageInspector(const std::filesystem::path& folder, Backend& backend, DType dtype)
    : generator_(folder, backend, dtype), backend_(backend) {
  const models::LanguageModel::Facts config = generator_.model().facts();
  end_ = static_cast<std::int32_t>(config.end);
  anatomy_ = anatomy_in(generator_.model());
  card_ = {.kind = "language-model",
           .config = generator_.model().config(),
           .vocabulary = config.vocabulary,
           .parameters = generator_.parameters().count(),
           .max_tokens = config.max_length - 1,
           .positions = has_position_table(generator_.model()) ? "learned" : "",
           .example = config.vocabulary < 512 ? "The king is" : "The animal did not cross the street because"};
}

std::vector<std::int32_t> LanguageInspector::encode(const std::string& text) const {
  check_text(text);
  std::vector<std::int32_t> ids = generator_.tokenizer().encode_ids(text);
  check(static_cast<std::int64_t>(ids.size()) <= card_.max_tokens, "the text has {} tokens, the model reads only {}",
        ids.size(), card_.max_tokens);
  check(!ids.empty(), "there is no text");
  return ids;
}

std::string LanguageInspector::name_of_token(std::int32_t id) const {
  const std::string text = generator_.tokenizer().decode(std::span<const std::int32_t>(&id, 1));
  if (!text.empty()) return text;
  return std::string(generator_.tokenizer().id_to_token(id).value_or(""));  // the end of a text
}

std::vector<std::string> LanguageInspector::labels(const std::vector<std::int32_t>& ids) const {
  std::vector<std::string> result = tasks::token_strings(generator_.tokenizer(), ids);
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (ids[i] == end_) result[i] = name_of_token(end_);
  return result;
}

Inspection LanguageInspector::inspect(const std::string& text, const InspectOptions& options) {
  check(options.tokens >= 1 && options.tokens <= kMostTokens, "tokens must be 1 to {}, not {}", kMostTokens,
        options.tokens);
  Inspection result;
  result.source_ids = encode(text);
  const std::size_t count = result.source_ids.size();
  const std::vector<std::size_t> kept = kept_tokens(count, options.ablation.masked);
  WeightEdits edits(generator_.parameters(), options.ablation, anatomy_);
  if (anatomy_.has_layers() && (kept.size() < count || !options.ablation.positions)) {
    check(!card_.positions.empty(), "this model has no table of positions, so tokens cannot be taken away or moved");
    // The tokens that are left stand where they stood, or all at place 0.
    std::vector<std::int64_t> rows;
    for (std::size_t i = 0; i < static_cast<std::size_t>(generator_.model().facts().max_length); ++i) {
      const std::size_t place = i < kept.size() ? kept[i] : i - kept.size() + count;
      rows.push_back(options.ablation.positions ? static_cast<std::int64_t>(place) : 0);
      if (place > static_cast<std::size_t>(card_.max_tokens)) rows.back() = card_.max_tokens;
    }
    edits.rearrange(kPositions, rows);
  }
  std::vector<std::int32_t> prompt;
  for (const std::size_t i : kept) prompt.push_back(result.source_ids[i]);
  write(prompt, options, result);
  result.text = generator_.tokenizer().decode(result.target_ids);

  std::vector<std::int32_t> all = result.source_ids;
  all.insert(all.end(), result.target_ids.begin(), result.target_ids.end());
  const std::vector<std::string> names = labels(all);
  result.source.assign(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(count));
  result.target.assign(names.begin() + static_cast<std::ptrdiff_t>(count), names.end());

  view::Collector collector;
  Pass pass(backend_, {.probe = &collector, .attention_window = options.ablation.window});
  prompt.insert(prompt.end(), result.target_ids.begin(), result.target_ids.end());
  generator_.model().states(nn::Sequences{nn::row_of(backend_, prompt)}.in(pass));
  std::vector<std::size_t> places = kept;
  for (std::size_t i = count; i < all.size(); ++i) places.push_back(i);
  for (const Anatomy::Attention& attention : anatomy_.attention)
    result.attention.push_back(spread(attention, collector,
                                      {.rows = places,
                                       .columns = places,
                                       .all_rows = all.size(),
                                       .all_columns = all.size(),
                                       .window = options.ablation.window}));
  return result;
}

void LanguageInspector::write(const std::vector<std::int32_t>& prompt, const InspectOptions& options,
                              Inspection& result) const {
  const models::LanguageModel::Facts config = generator_.model().facts();
  const std::vector<std::int32_t> forced = options.prefix.value_or(std::vector<std::int32_t>{});
  const std::int64_t room = config.max_length - static_cast<std::int64_t>(result.source_ids.size());
  const auto asked = std::max(options.tokens, static_cast<std::int64_t>(forced.size()));
  const std::int64_t longest = std::min({room, asked, kMostTokens});
  check(static_cast<std::int64_t>(forced.size()) <= longest, "the prefix has {} tokens, at most {} are written",
        forced.size(), longest);
  const std::int32_t known = static_cast<std::int32_t>(generator_.tokenizer().id_limit());
  for (const std::int32_t id : forced) check(id >= 0 && id < known, "there is no token {}", id);

  Pass pass(backend_, {.attention_window = options.ablation.window});
  const auto decoder = generator_.model().start(pass, nn::row_of(backend_, prompt), 1, 0);
  nn::StepModel& model = *decoder;
  double sum = 0;
  result.finished = false;
  for (std::int32_t newest = prompt.back();
       static_cast<std::int64_t>(result.steps.size()) < longest && !result.finished;) {
    const nn::StepModel::Scores scores = model.step(std::span(&newest, 1));
    InspectedStep step{.candidates =
                           candidates_of(scores.logits, {.count = options.candidates,
                                                         .log_sum = scores.log_sums[0],
                                                         .allowed = [&](std::int32_t id) { return id < known; },
                                                         .name = [&](std::int32_t id) { return name_of_token(id); }})};
    const std::size_t at = result.steps.size();
    step.chosen = at < forced.size() ? forced[at] : step.candidates.front().id;
    const float log_probability = scores.logits[static_cast<std::size_t>(step.chosen)] - scores.log_sums[0];
    step.probability = std::exp(log_probability), sum += static_cast<double>(log_probability);
    newest = step.chosen, result.finished = newest == end_;
    result.target_ids.push_back(newest);
    result.steps.push_back(std::move(step));
  }
  result.score = static_cast<float>(sum / static_cast<double>(std::max<std::size_t>(result.steps.size(), 1)));
}

std::vector<std::int32_t> LanguageInspector::whole(const TraceRequest& request) const {
  std::vector<std::int32_t> ids = encode(request.text);
  check(ids.size() + request.target.size() <= static_cast<std::size_t>(card_.max_tokens) + 1, "the text is too long");
  for (const std::int32_t id : request.target)
    check(id >= 0 && id < generator_.tokenizer().id_limit(), "there is no token {}", id);
  ids.insert(ids.end(), request.target.begin(), request.target.end());
  return ids;
}

view::Trace LanguageInspector::trace(const TraceRequest& request) {
  check(anatomy_.has_layers(), "only a Transformer can be walked through step by step");
  const std::vector<std::int32_t> ids = whole(request);
  const std::vector<std::string> tokens = labels(ids);
  return trace_layer(anatomy_, request, {tokens, tokens, true}, backend_,
                     [&](Pass& pass) { generator_.model().states(nn::Sequences{nn::row_of(backend_, ids)}.in(pass)); });
}

Output LanguageInspector::output(const TraceRequest& request) {
  std::vector<std::int32_t> ids = whole(request);
  check(request.token >= 0 && request.token < static_cast<std::int64_t>(ids.size()), "there is no token {}",
        request.token);
  ids.resize(static_cast<std::size_t>(request.token) + 1);
  Pass pass(backend_);
  const auto decoder = generator_.model().start(pass, nn::row_of(backend_, ids), 1, 0);
  nn::StepModel& model = *decoder;
  const nn::StepModel::Scores scores = model.step(std::span(&ids.back(), 1));
  const std::int64_t known = generator_.tokenizer().id_limit();
  return output_of(scores.logits,
                   {.count = kOutputWords,
                    .log_sum = scores.log_sums[0],
                    .allowed = [&](std::int32_t id) { return id < known; },
                    .name = [&](std::int32_t id) { return name_of_token(id); }},
                   anatomy_.has_layers() ? "gpt2 logits" : "text rnn logits");
}

PositionTable LanguageInspector::positions(std::int64_t rows) const {
  if (card_.positions.empty()) return {};
  PositionTable table{static_cast<std::size_t>(anatomy_.width)};
  table.values = generator_.parameters().read(find_entry(generator_.parameters(), kPositions));
  const std::size_t size = static_cast<std::size_t>(rows) * table.width;
  table.values.resize(std::min(table.values.size(), size));
  return table;
}

}  // namespace attend::look
