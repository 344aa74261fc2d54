#include "attend/decode/sample_texts.h"

#include <algorithm>
#include <memory>

#include "attend/base/error.h"
#include "attend/decode/sampler.h"
#include "attend/decode/text_rows.h"

namespace attend::decode {

std::vector<Hypothesis> sample_texts(nn::BatchModel& model, std::span<const Text> texts, const TextsOptions& options) {
  check_draws(options.draw);
  check(model.rows() >= 1, "sample: a batch of {} rows", model.rows());
  Sampler drawer(options.draw, model.vocabulary(), model.suppress(options.draw.suppressed));
  const auto sixteenth = static_cast<std::size_t>(std::max<std::int64_t>(model.rows() / 16, 1));
  TextRows rows(model, {.together = options.together > 0 ? static_cast<std::size_t>(options.together) : sixteenth});
  std::vector<std::shared_ptr<RowText>> all;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    all.push_back(std::make_shared<RowText>());
    RowText& text = *all.back();
    text.prompt = texts[i].prompt, text.max_length = texts[i].max_length;
    text.seed = texts[i].seed, text.sample = texts[i].sample;
    text.options = &options.draw, text.drawer = &drawer;
    if (options.stop)
      text.on_token = [&options, i](const RowText& one, const RowText::Step&) {
        return options.stop(i, one.writing.hypothesis.tokens);
      };
    if (options.done) text.on_done = [&options, i](const RowText& one) { options.done(i, one.writing.hypothesis); };
    rows.add(all.back());
  }
  std::int64_t written = 0;
  while (!rows.idle() && !(options.interrupted && options.interrupted())) {
    written += static_cast<std::int64_t>(rows.advance());
    if (options.stepped) options.stepped(written);
  }
  std::vector<Hypothesis> results;
  for (const auto& text : all) results.push_back(std::move(text->writing.hypothesis));
  return results;
}

}  // namespace attend::decode
