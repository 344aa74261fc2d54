// Generator::speculated(): one text by speculative decoding, with guesses from the text itself or from a draft model.
#include <algorithm>

#include "attend/base/error.h"
#include "attend/decode/draft_model.h"
#include "attend/decode/prompt_lookup.h"
#include "attend/decode/speculate.h"
#include "attend/tasks/generator.h"

namespace attend::tasks {

namespace {

constexpr std::int64_t kMostGuessed = 15;

// Ids of one model mean nothing to another unless they stand for the same tokens.
void check_same_tokens(const text::Tokenizer& draft, const text::Tokenizer& own) {
  check(draft.id_limit() == own.id_limit(), "generate: the draft model has {} tokens, the model {}; both need the same",
        draft.id_limit(), own.id_limit());
  for (text::TokenId id = 0; id < own.id_limit(); ++id)
    if (draft.id_to_token(id) != own.id_to_token(id))
      fail("generate: token {} is '{}' for the draft model and '{}' for the model; both need the same tokens", id,
           draft.id_to_token(id).value_or(""), own.id_to_token(id).value_or(""));
}

}  // namespace

decode::Speculated Generator::speculated(const decode::SampleOptions& options, std::int64_t most,
                                         const Generator* draft) const {
  check(most >= 0 && most <= kMostGuessed, "generate: 0 to {} tokens can be guessed ahead, not {}", kMostGuessed, most);
  const decode::SpeculateOptions how{.most = static_cast<std::size_t>(most > 0 ? most : kMostGuessed)};
  const std::int64_t room = static_cast<std::int64_t>(options.prompt.size()) + options.max_lengths.front();
  const auto model = model_->text(backend_, room);
  check(model != nullptr, "generate: this model cannot take back tokens, so it cannot guess ahead");
  if (!draft) {
    decode::PromptLookup lookup;
    return decode::speculate(*model, lookup, options, how);
  }
  check_same_tokens(draft->tokenizer_, tokenizer_);
  const auto small = draft->model_->text(draft->backend_, std::min(room, draft->model_->facts().max_length));
  check(small != nullptr, "generate: the draft model cannot take back tokens");
  decode::SampleOptions drafting = options;
  drafting.suppressed = draft->meaningless();
  decode::DraftModel drafter(*small, drafting);
  return decode::speculate(*model, drafter, options, how);
}

}  // namespace attend::tasks
