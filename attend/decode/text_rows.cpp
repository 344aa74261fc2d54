#include "attend/decode/text_rows.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "attend/base/error.h"

namespace attend::decode {

namespace {
using Clock = std::chrono::steady_clock;
double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}
}  // namespace

TextRows::TextRows(nn::BatchModel& model, const Options& options)
    : model_(model), options_(options), rows_(static_cast<std::size_t>(model.rows())), tokens_(rows_.size()) {
  check(model.rows() >= 1, "sample: a batch of {} rows", model.rows());
  options_.together = std::clamp<std::size_t>(options_.together, 1, rows_.size());
  for (std::size_t row = 0; row < rows_.size(); ++row) all_rows_.push_back(row);
}

void TextRows::add(std::shared_ptr<RowText> text) {
  check(text->max_length >= 1 && !text->prompt.empty(), "sample: a text of {} tokens after a prompt of {}",
        text->max_length, text->prompt.size());
  waiting_.push_back(std::move(text));
}

std::size_t TextRows::advance() {
  written_ = 0;
  drop();
  draws_tokens_ = draws_tokens_ && busy_ > 0;
  piece_read_ = piece_read_ && busy_ > 0;
  if (enough_wait() && !piece_read_) {
    held_ = 0;
    enter();
  } else if (busy_ > 0) {
    piece_read_ = false;
    held_ += waiting_.empty() ? 0 : 1;
    const auto begun = Clock::now();
    const nn::StepModel::Scores scores = model_.step({.tokens = tokens_, .wanted = wanted(all_rows_)});
    const auto stepped = Clock::now();
    for (std::size_t row = 0; row < rows_.size(); ++row)
      if (rows_[row] && !model_.missed(static_cast<std::int64_t>(row))) write(row, scores, row);
    times_.steps += seconds_between(begun, stepped), times_.texts += seconds_between(stepped, Clock::now());
  }
  return written_;
}

bool TextRows::enough_wait() const {
  const std::size_t room = rows_.size() - busy_, can = std::min(room, waiting_.size());
  if (can == 0) return false;
  if (busy_ == 0 || can >= options_.together) return true;
  return options_.patience == 0 ? room >= waiting_.size() : held_ >= options_.patience;
}

void TextRows::drop() {
  const auto gone = [](const std::shared_ptr<RowText>& text) { return text->dropped && text->dropped(); };
  std::erase_if(waiting_, gone);
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    if (!rows_[row] || !gone(rows_[row])) continue;
    model_.leave(static_cast<std::int64_t>(row));
    rows_[row].reset();
    --busy_;
  }
}

// The likeliest where all texts are greedy, else the model draws, unless one needs to see all its logits. A batch that
// has begun to draw goes on so: a step of another kind is captured anew.
nn::StepModel::Wanted TextRows::wanted(std::span<const std::size_t> rows) {
  std::int64_t likeliest = 0;
  draws_.clear();
  for (const std::size_t row : rows) {
    const RowText* text = rows_[row].get();
    draws_.push_back(text ? draw_of(*text) : SamplingParams());
    if (!text) continue;
    if (!text->drawer->model_may_draw()) return {0};
    draws_tokens_ = draws_tokens_ || !text->drawer->greedy();
    likeliest = std::max(likeliest, text->likeliest);
  }
  if (draws_tokens_) return {likeliest, draws_};
  return {std::max<std::int64_t>(likeliest, 1)};
}

SamplingParams TextRows::draw_of(const RowText& text) const {
  SamplingParams draw = draw_for(*text.options, text.seed, 0, text.sample);
  draw.position = static_cast<std::uint32_t>(text.writing.hypothesis.tokens.size());
  return draw;
}

// Whether the prompt may enter. If it is a long one, one piece is read before the next step.
bool TextRows::prepared(RowText& text) {
  const nn::BatchModel::Prepared now = model_.prepared(text.prompt);
  if (!std::exchange(text.begun, true)) reading_.known += now.known;
  if (now.ready || std::exchange(piece_read_, true)) return now.ready;
  const auto begun = Clock::now();
  model_.read_piece(text.prompt);
  times_.prompts += seconds_between(begun, Clock::now());
  ++reading_.pieces;
  return false;
}

// Texts whose prompts are not ready let others pass.
void TextRows::enter() {
  std::vector<nn::BatchModel::Prompt> prompts;
  std::vector<std::size_t> entered;
  std::size_t together = 0, row = 0;
  for (auto text = waiting_.begin(); text != waiting_.end();) {
    while (row < rows_.size() && rows_[row]) ++row;
    const std::size_t size = (*text)->prompt.size();
    if (row == rows_.size() || (together > 0 && together + size > options_.tokens_at_once)) break;
    if (!prepared(**text)) {
      ++text;
      continue;
    }
    together += size;
    reading_.tokens += static_cast<std::int64_t>(size);
    rows_[row] = std::move(*text);
    text = waiting_.erase(text);
    prompts.push_back({static_cast<std::int64_t>(row), rows_[row]->prompt});
    entered.push_back(row);
    ++busy_;
  }
  if (prompts.empty()) return;
  const auto begun = Clock::now();
  const nn::StepModel::Scores scores = model_.enter(prompts, wanted(entered));
  const auto read = Clock::now();
  for (std::size_t i = 0; i < prompts.size(); ++i) write(static_cast<std::size_t>(prompts[i].row), scores, i);
  times_.prompts += seconds_between(begun, read), times_.texts += seconds_between(read, Clock::now());
}

// One more token of the text in a row, from row `from` of the scores.
void TextRows::write(std::size_t row, const nn::StepModel::Scores& scores, std::size_t from) {
  const std::shared_ptr<RowText> text = rows_[row];
  const std::size_t each = scores.logits.size() / scores.log_sums.size();
  nn::StepModel::Scores own{scores.logits.subspan(from * each, each), scores.log_sums.subspan(from, 1)};
  if (!scores.ids.empty()) own.ids = scores.ids.subspan(from * each, each);
  if (!scores.drawn.empty())
    own.drawn = scores.drawn.subspan(from, 1), own.drawn_logits = scores.drawn_logits.subspan(from, 1);
  Writing& writing = text->writing;
  const auto [token, logit] = (*text->drawer)(own, 0, {text->prompt, writing.hypothesis.tokens}, draw_of(*text));
  const double log_probability = logit - static_cast<double>(scores.log_sums[from]);
  const RowText::Step step{token, log_probability, own};
  writing.add(token, log_probability, text->max_length, *text->options,
              [&](std::span<const std::int32_t>) { return text->on_token && text->on_token(*text, step); });
  tokens_[row] = token;
  ++written_;
  if (!writing.done) return;
  model_.leave(static_cast<std::int64_t>(row));
  rows_[row].reset();
  --busy_;
  if (text->on_done) text->on_done(*text);
}

}  // namespace attend::decode
