#include "attend/tasks/answerer.h"

#include <algorithm>
#include <cmath>

#include "attend/base/error.h"
#include "attend/base/unicode/unicode.h"

namespace attend::tasks {

namespace {

double log_sum(std::span<const WindowLogits> windows, std::vector<float> WindowLogits::*side) {
  double most = -INFINITY, sum = 0;
  for (const WindowLogits& window : windows)
    for (float value : window.*side) most = std::max(most, static_cast<double>(value));
  for (const WindowLogits& window : windows)
    for (float value : window.*side) sum += std::exp(value - most);
  return most + std::log(sum);
}

}  // namespace

std::vector<FoundSpan> spans_of(std::span<const WindowLogits> windows, std::int64_t max_tokens) {
  const double all = log_sum(windows, &WindowLogits::starts) + log_sum(windows, &WindowLogits::ends);
  struct Scored {
    float logit;
    FoundSpan span;
  };
  std::vector<Scored> scored;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const auto& [starts, ends] = windows[i];
    for (std::size_t first = 0; first < starts.size(); ++first)
      for (std::size_t last = first; last < std::min(ends.size(), first + static_cast<std::size_t>(max_tokens)); ++last)
        scored.push_back({starts[first] + ends[last], {i, first, last}});
  }
  std::ranges::stable_sort(scored, std::ranges::greater(), &Scored::logit);
  std::vector<FoundSpan> found;
  for (Scored& one : scored) {
    one.span.probability = static_cast<float>(std::exp(static_cast<double>(one.logit) - all));
    found.push_back(one.span);
  }
  return found;
}

Answerer::~Answerer() = default;

Answerer::Answerer(const std::filesystem::path& folder, Backend& backend, const nn::ModelFormat& format)
    : encoder_(folder, "answer", catalogue::Task::answer, backend, format) {}

std::vector<EncoderText> answer_windows(const EncoderReader& reader, std::string_view question,
                                        std::string_view context, std::int64_t overlap) {
  check(overlap >= 0, "answer: an overlap of {} tokens", overlap);
  const EncoderText whole = reader.read_all(question, context);
  const auto limit = static_cast<std::size_t>(reader.longest());
  const std::size_t around = whole.ids.size() - whole.second.size();
  check(around + 8 <= limit, "answer: the question has {} tokens, and the model reads no more than {} with the context",
        whole.first.size(), limit);
  const std::size_t room = limit - around, repeated = std::min(static_cast<std::size_t>(overlap), room / 2);
  std::vector<EncoderText> windows;
  for (std::size_t begin = whole.second.begin; begin < whole.second.end; begin += room - repeated) {
    const std::size_t end = std::min(begin + room, whole.second.end);
    windows.push_back(EncoderReader::shortened(whole, whole.first, {begin, end}));
    if (end == whole.second.end) break;
  }
  return windows;
}

std::vector<Answer> Answerer::answer(std::string_view question, std::string_view context,
                                     const AnswerOptions& options) const {
  check(options.top_k >= 1, "answer: top-k must be at least 1, not {}", options.top_k);
  check(options.max_tokens >= 1, "answer: an answer of {} tokens", options.max_tokens);
  check(!find_invalid_utf8(question) && !find_invalid_utf8(context), "answer: question and context must be UTF-8");
  const std::vector<EncoderText> texts = answer_windows(encoder_.reader(), question, context, options.overlap);
  std::vector<WindowLogits> found(texts.size());
  in_batches(texts, options.batch, [&](EncoderBatch batch, std::span<const std::size_t> indices) {
    std::vector<WindowLogits> some = logits(batch);
    for (std::size_t i = 0; i < batch.size(); ++i) found[indices[i]] = std::move(some[i]);
  });
  return answers(texts, found, context, options);
}

std::vector<WindowLogits> Answerer::logits(EncoderBatch windows) const {
  Pass pass(encoder_.backend());
  const models::BertInput input = encoder_.reader().pack(windows, encoder_.backend()).in(pass);
  const Tensor states = encoder_.model().body().states(input);  // [rows, C]
  const std::vector<float> logits = download(encoder_.model().logits(states.reshape({1, -1, states.width()})));
  const auto ends = logits.begin() + static_cast<std::ptrdiff_t>(logits.size() / 2);  // [2, 1, rows]
  std::vector<WindowLogits> found;
  std::ptrdiff_t row = 0;
  for (const EncoderText* window : windows) {
    const auto from = row + static_cast<std::ptrdiff_t>(window->second.begin),
               to = row + static_cast<std::ptrdiff_t>(window->second.end);
    found.push_back({{logits.begin() + from, logits.begin() + to}, {ends + from, ends + to}});
    row += static_cast<std::ptrdiff_t>(window->ids.size());
  }
  return found;
}

std::vector<Answer> Answerer::answers(std::span<const EncoderText> texts, std::span<const WindowLogits> found,
                                      std::string_view context, const AnswerOptions& options) {
  std::vector<Answer> answers;
  for (const FoundSpan& one : spans_of(found, options.max_tokens)) {
    if (static_cast<std::int64_t>(answers.size()) == options.top_k) break;
    const EncoderText& text = texts[one.window];
    const text::Span span{text.offsets[text.second.begin + one.first].begin,
                          text.offsets[text.second.begin + one.last].end};
    // Two windows may see the same answer: the surer one counts.
    if (std::ranges::find(answers, span, &Answer::span) == answers.end())
      answers.push_back({characters_of(context, span), span, one.probability});
  }
  return answers;
}

}  // namespace attend::tasks
