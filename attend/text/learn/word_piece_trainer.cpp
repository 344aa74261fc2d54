#include "attend/text/learn/word_piece_trainer.h"

#include <algorithm>
#include <map>
#include <set>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/base/unicode/unicode.h"
#include "attend/text/json_view.h"
#include "attend/text/learn/pair_merger.h"
#include "attend/text/steps/normalizer.h"
#include "attend/text/steps/pre_tokenizer.h"
#include "attend/text/text_reader.h"

namespace attend::text {

namespace {

constexpr const char* kSpecialTokens[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
constexpr std::string_view kContinues = "##";
constexpr std::size_t kLongestWord = 100;  // in characters: longer ones are unknown anyway

Json normalizer_json(bool lowercase) {
  return {{"type", "BertNormalizer"},
          {"clean_text", true},
          {"handle_chinese_chars", true},
          {"strip_accents", nullptr},
          {"lowercase", lowercase}};
}

Json pre_tokenizer_json() { return {{"type", "BertPreTokenizer"}}; }

// [CLS] A [SEP], and [CLS] A [SEP] B [SEP] with the second type for B and what ends it.
Json template_json() {
  const auto text = [](const char* id, int type) { return Json{{"Sequence", {{"id", id}, {"type_id", type}}}}; };
  const auto token = [](const char* id, int type) { return Json{{"SpecialToken", {{"id", id}, {"type_id", type}}}}; };
  Json special = Json::object();
  for (int id : {2, 3}) {
    const std::string name = kSpecialTokens[id];
    special[name] = {{"id", name}, {"ids", Json::array({id})}, {"tokens", Json::array({name})}};
  }
  return {{"type", "TemplateProcessing"},
          {"single", Json::array({token("[CLS]", 0), text("A", 0), token("[SEP]", 0)})},
          {"pair", Json::array({token("[CLS]", 0), text("A", 0), token("[SEP]", 0), text("B", 1), token("[SEP]", 1)})},
          {"special_tokens", special}};
}

std::vector<char32_t> characters_of(std::string_view word) {
  std::vector<char32_t> characters;
  for (std::size_t at = 0; at < word.size();) characters.push_back(next_character(word, at));
  return characters;
}

std::string utf8(char32_t c) {
  std::string text;
  append_utf8(text, c);
  return text;
}

}  // namespace

WordPieceTrainer::WordPieceTrainer(WordPieceTrainerOptions options)
    : options_(std::move(options)),
      normalizer_(make_normalizer(JsonView(normalizer_json(options_.lowercase), "train WordPiece"))),
      pre_tokenizer_(make_pre_tokenizer(JsonView(pre_tokenizer_json(), "train WordPiece"))),
      pool_(options_.threads),
      counter_(pool_, {.cut = [this](std::string_view line, WordTable& words) { cut(line, words); }}) {
  constexpr std::size_t kLargestVocabulary = 10'000'000;
  check(options_.vocabulary_size > std::size(kSpecialTokens) && options_.vocabulary_size < kLargestVocabulary,
        "train WordPiece: a vocabulary of {} pieces; it must have more than {} and fewer than {}",
        options_.vocabulary_size, std::size(kSpecialTokens), kLargestVocabulary);
}

WordPieceTrainer::~WordPieceTrainer() = default;

void WordPieceTrainer::add_file(const std::filesystem::path& path) {
  TextReader reader(path);
  for (std::string_view block; !(block = reader.next_block()).empty();) counter_.add(block);
}

void WordPieceTrainer::cut(std::string_view line, WordTable& words) const {
  SplitText split{.text = std::string(line)};
  // Special tokens in the text are found before anything else happens to it: their letters are no word.
  for (std::string_view token : kSpecialTokens)
    for (std::size_t at = 0; (at = split.text.find(token, at)) != std::string::npos;)
      split.text.replace(at, token.size(), " ");
  TextBudget budget(line.size());
  normalizer_->apply_bytes(split.text, budget);
  if (split.text.empty()) return;
  split.words.push_back({0, static_cast<std::uint32_t>(split.text.size())});
  pre_tokenizer_->apply(split);
  for (WordRange word : split.words)
    if (word.begin < word.end) words.add(split.word(word), 1);
}

std::vector<std::string> WordPieceTrainer::pieces() {
  const std::vector<CountedWord> words = counter_.words();
  std::map<char32_t, std::uint64_t> counts;
  std::set<char32_t> inside;  // a word, not at its beginning
  for (const CountedWord& word : words) {
    const std::vector<char32_t> characters = characters_of(word.text);
    for (std::size_t i = 0; i < characters.size(); ++i) {
      counts[characters[i]] += word.count;
      if (i > 0) inside.insert(characters[i]);
    }
  }
  std::vector<std::pair<char32_t, std::uint64_t>> kept(counts.begin(), counts.end());
  std::ranges::stable_sort(kept, std::ranges::greater(), &std::pair<char32_t, std::uint64_t>::second);
  kept.resize(std::min(kept.size(), options_.characters));
  std::ranges::sort(kept);

  std::vector<std::string> tokens(std::begin(kSpecialTokens), std::end(kSpecialTokens));
  std::map<char32_t, TokenId> first, behind;
  Vocabulary vocabulary;
  const auto id_of = [&](const std::string& token) {
    if (const auto known = vocabulary.find(token)) return *known;
    const auto id = static_cast<TokenId>(tokens.size());
    vocabulary.add(token, id);
    tokens.push_back(token);
    return id;
  };
  for (const auto& [c, count] : kept) first[c] = id_of(utf8(c));
  for (const auto& [c, count] : kept)
    if (inside.contains(c)) behind[c] = id_of(std::string(kContinues) + utf8(c));
  check(tokens.size() <= options_.vocabulary_size,
        "train WordPiece: a vocabulary of {} pieces has no room for the {} characters of the text and the special "
        "tokens; a larger one, or fewer characters",
        options_.vocabulary_size, kept.size());

  PairMerger merger(words, [&](std::string_view word, std::vector<TokenId>& symbols) {
    const std::vector<char32_t> characters = characters_of(word);
    const auto known = [&](char32_t c) { return first.contains(c); };
    if (characters.size() > kLongestWord || !std::ranges::all_of(characters, known)) return;
    for (std::size_t i = 0; i < characters.size(); ++i) symbols.push_back((i == 0 ? first : behind).at(characters[i]));
  });
  while (tokens.size() < options_.vocabulary_size) {
    const PairMerger::Best best = merger.next();
    if (best.count < std::max<std::uint64_t>(options_.min_frequency, 1)) break;
    merger.join(id_of(tokens[static_cast<std::size_t>(best.first)] +
                      tokens[static_cast<std::size_t>(best.second)].substr(kContinues.size())));
    if (options_.on_progress && tokens.size() % 64 == 0) options_.on_progress(tokens.size());
  }
  return tokens;
}

std::string WordPieceTrainer::train() {
  const std::vector<std::string> tokens = pieces();
  Json json = {{"version", "1.0"}, {"truncation", nullptr}, {"padding", nullptr}};
  json["added_tokens"] = Json::array();
  for (std::size_t id = 0; id < std::size(kSpecialTokens); ++id)
    json["added_tokens"].push_back({{"id", id},
                                    {"content", tokens[id]},
                                    {"single_word", false},
                                    {"lstrip", false},
                                    {"rstrip", false},
                                    {"normalized", false},
                                    {"special", true}});
  json["normalizer"] = normalizer_json(options_.lowercase);
  json["pre_tokenizer"] = pre_tokenizer_json();
  json["post_processor"] = template_json();
  json["decoder"] = {{"type", "WordPiece"}, {"prefix", kContinues}, {"cleanup", true}};
  // Written by hand, in the order of ids: an ordered object searches itself for every key it gets.
  std::string text = json.dump(2);
  text.resize(text.rfind('\n'));
  text += ",\n  \"model\": {\n    \"type\": \"WordPiece\",\n    \"unk_token\": \"[UNK]\",\n";
  text += "    \"continuing_subword_prefix\": \"##\",\n    \"max_input_chars_per_word\": 100,\n    \"vocab\": {";
  for (std::size_t id = 0; id < tokens.size(); ++id)
    text += fmt::format("{}\n      {}: {}", id == 0 ? "" : ",", Json(tokens[id]).dump(), id);
  return text += "\n    }\n  }\n}\n";
}

}  // namespace attend::text
