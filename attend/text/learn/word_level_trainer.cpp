#include "attend/text/learn/word_level_trainer.h"

#include <fmt/core.h>

#include <utility>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/text/json_view.h"
#include "attend/text/steps/normalizer.h"
#include "attend/text/steps/pre_tokenizer.h"

namespace attend::text {

namespace {

constexpr const char* kFirstTokens[] = {"<pad>", "<s>", "</s>", "<unk>"};
constexpr const char* kWhat = "train words";

// Lower case; all that is no letter, mark, digit or apostrophe parts words.
Json word_normalizer() {
  return {{"type", "Sequence"},
          {"normalizers",
           Json::array(
               {Json{{"type", "Lowercase"}},
                Json{{"type", "Replace"}, {"pattern", {{"Regex", "[^\\p{L}\\p{M}\\p{N}']+"}}}, {"content", " "}}})}};
}

Json word_pre_tokenizer() { return {{"type", "WhitespaceSplit"}}; }

}  // namespace

WordLevelTrainer::WordLevelTrainer(WordLevelTrainerOptions options)
    : options_(options),
      normalizer_(make_normalizer(JsonView(word_normalizer(), kWhat))),
      pre_tokenizer_(make_pre_tokenizer(JsonView(word_pre_tokenizer(), kWhat))),
      pool_(options.threads),
      counter_(pool_, {.cut = [this](std::string_view line, WordTable& words) { cut(line, words); }}) {
  check(options.least >= 1 && options.most >= 1, "{}: words seen at least {} times, at most {} of them", kWhat,
        options.least, options.most);
}

WordLevelTrainer::~WordLevelTrainer() = default;

void WordLevelTrainer::cut(std::string_view line, WordTable& words) const {
  SplitText split{.text = std::string(line)};
  TextBudget budget(line.size());
  normalizer_->apply_bytes(split.text, budget);
  if (split.text.empty()) return;
  split.words.push_back({0, static_cast<std::uint32_t>(split.text.size())});
  pre_tokenizer_->apply(split);
  for (WordRange word : split.words)
    if (word.begin < word.end) words.add(split.word(word), 1);
}

std::string WordLevelTrainer::train() {
  std::vector<std::string> tokens(std::begin(kFirstTokens), std::end(kFirstTokens));
  for (const CountedWord& word : counter_.words()) {
    if (word.count < options_.least || tokens.size() >= options_.most + std::size(kFirstTokens)) break;
    tokens.emplace_back(word.text);
  }
  check(tokens.size() > std::size(kFirstTokens), "{}: no word occurs {} times", kWhat, options_.least);
  Json json = {{"version", "1.0"}, {"truncation", nullptr}, {"padding", nullptr}};
  json["added_tokens"] = Json::array();
  for (std::size_t id = 0; id < std::size(kFirstTokens); ++id)
    json["added_tokens"].push_back({{"id", id},
                                    {"content", tokens[id]},
                                    {"single_word", false},
                                    {"lstrip", false},
                                    {"rstrip", false},
                                    {"normalized", false},
                                    {"special", true}});
  json["normalizer"] = word_normalizer();
  json["pre_tokenizer"] = word_pre_tokenizer();
  json["post_processor"] = nullptr;
  json["decoder"] = nullptr;
  // Written by hand, in the order of ids: an ordered object searches itself for every key it gets.
  std::string text = json.dump(2);
  text.resize(text.rfind('\n'));
  text += ",\n  \"model\": {\n    \"type\": \"WordLevel\",\n    \"unk_token\": \"<unk>\",\n    \"vocab\": {";
  for (std::size_t id = 0; id < tokens.size(); ++id)
    text += fmt::format("{}\n      {}: {}", id == 0 ? "" : ",", Json(tokens[id]).dump(), id);
  return text += "\n    }\n  }\n}\n";
}

}  // namespace attend::text
