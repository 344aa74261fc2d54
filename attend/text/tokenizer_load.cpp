// Which tokenizer a file or a folder holds.

#include "attend/base/error.h"

#include <memory>
#include <utility>
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/base/paths.h"
#include "attend/text/files/vocabulary_files.h"
#include "attend/text/json_view.h"
#include "attend/text/models/marian.h"
#include "attend/text/models/sentencepiece_bpe.h"
#include "attend/text/models/unigram.h"
#include "attend/text/steps/sentencepiece_decoder.h"
#include "attend/text/steps/sentencepiece_normalizer.h"
#include "attend/text/tokenizer.h"

namespace attend::text {

namespace {

namespace fs = std::filesystem;

struct VocabularyAndMerges {
  const char *vocabulary, *merges;
};
constexpr VocabularyAndMerges kGpt2Names[] = {{"vocab.json", "merges.txt"}, {"encoder.json", "vocab.bpe"}};
constexpr const char* kSentencePieceNames[] = {"spiece.model", "sentencepiece.bpe.model", "tokenizer.model"};

// A file that may be there; an empty object else.
Json read_beside(const fs::path& folder, const char* name) {
  return path_exists(folder / name) ? read_json(folder / name) : Json::object();
}

// BERT's switches in tokenizer_config.json stand above those in tokenizer.json, as in transformers.
void apply_bert_switches(Json& tokenizer, const fs::path& folder) {
  const auto normalizer = tokenizer.is_object() ? tokenizer.find("normalizer") : tokenizer.end();
  if (!tokenizer.is_object() || normalizer == tokenizer.end() || !normalizer->is_object()) return;
  if (!normalizer->contains("type") || (*normalizer)["type"] != "BertNormalizer") return;
  const Json config = read_beside(folder, "tokenizer_config.json");
  if (!config.is_object()) return;
  constexpr std::pair<const char*, const char*> kSwitches[] = {{"do_lower_case", "lowercase"},
                                                               {"strip_accents", "strip_accents"},
                                                               {"tokenize_chinese_chars", "handle_chinese_chars"}};
  for (const auto& [there, here] : kSwitches) {
    const auto found = config.find(there);
    if (found != config.end() && found->is_boolean()) tokenizer["normalizer"][here] = *found;
  }
}

// Whether a SentencePiece file is one of fairseq's, whose ids are moved by one.
bool is_xlm_roberta(const fs::path& folder) {
  const Json config = read_beside(folder, "config.json"), tokenizer = read_beside(folder, "tokenizer_config.json");
  const auto says = [](const Json& json, const char* key, const char* what) {
    const auto found = json.is_object() ? json.find(key) : json.end();
    return json.is_object() && found != json.end() && found->is_string() &&
           found->get<std::string>().find(what) != std::string::npos;
  };
  return says(config, "model_type", "xlm-roberta") || says(tokenizer, "tokenizer_class", "XLMRoberta");
}

Json sequence(const char* name) { return {{"Sequence", {{"id", name}, {"type_id", 0}}}}; }
Json special(const char* token) { return {{"SpecialToken", {{"id", token}, {"type_id", 0}}}}; }

std::unique_ptr<Model> sentencepiece_model(const SentencePieceFile& file, const std::string& what) {
  try {
    if (file.algorithm == SentencePieceFile::Algorithm::bpe) return std::make_unique<SentencePieceBpe>(file, what);
    return std::make_unique<Unigram>(file);
  } catch (const Error& error) {
    const std::string_view message = error.what();
    if (message.starts_with(what)) throw;
    fail("{}: {}", what, message);
  }
}

}  // namespace

Tokenizer Tokenizer::parse_sentencepiece(std::string_view bytes, const std::string& what) {
  const SentencePieceFile file = attend::text::parse_sentencepiece(bytes, what);
  Tokenizer tokenizer;
  tokenizer.normalizer_ = std::make_unique<SentencePieceNormalizer>(file, what);
  tokenizer.model_ = sentencepiece_model(file, what);
  tokenizer.decoder_ = std::make_unique<SentencePieceDecoder>(file);
  return tokenizer;
}

Tokenizer Tokenizer::load_marian(const fs::path& folder, const char* pieces) {
  for (const char* name : {"target.spm", "vocab.json"})
    check(path_exists(folder / name), "{}: has source.spm but no {}", folder.string(), name);
  Tokenizer tokenizer = parse_sentencepiece(read_file(folder / pieces), (folder / pieces).string());
  const std::string target = (folder / "target.spm").string(), vocabulary = (folder / "vocab.json").string();
  const Json ids = parse_json(read_file(vocabulary), vocabulary);
  Vocabulary tokens = read_vocabulary(JsonView(ids, vocabulary));
  Json added = Json::array();
  for (const char* token : kMarianSpecialTokens) {
    check(tokens.find(token).has_value(), "{}: has no token {}", vocabulary, token);
    added.push_back({{"content", token}, {"id", *tokens.find(token)}, {"special", true}});
  }
  // >>fra<< in front of a text asks for a language.
  for (const auto& [token, id] : ids.items())
    if (token.starts_with(">>") && token.ends_with("<<"))
      added.push_back({{"content", token}, {"id", id}, {"normalized", false}});
  const TokenId end = *tokens.find("</s>");
  const Json post = {{"type", "TemplateProcessing"},
                     {"single", Json::array({sequence("A"), special("</s>")})},
                     {"pair", Json::array({sequence("A"), sequence("B"), special("</s>")})},
                     {"special_tokens", {{"</s>", {{"ids", {end}}, {"tokens", {"</s>"}}}}}}};
  tokenizer.model_ = std::make_unique<MarianModel>(std::move(tokenizer.model_), std::move(tokens));
  tokenizer.post_processor_ = make_post_processor(JsonView(post, vocabulary));
  tokenizer.decoder_ = std::make_unique<MarianDecoder>(
      std::make_unique<SentencePieceDecoder>(attend::text::parse_sentencepiece(read_file(target), target)));
  tokenizer.add_tokens(JsonView(added, vocabulary));
  tokenizer.find_surroundings();
  return tokenizer;
}

// fairseq's dictionary begins with <s>, <pad>, </s> and <unk>, where SentencePiece has <unk>, <s> and </s>; the pieces
// behind them follow, and <mask> is the last.
Tokenizer Tokenizer::load_xlm_roberta(const fs::path& path) {
  const std::string what = path.string();
  const SentencePieceFile file = attend::text::parse_sentencepiece(read_file(path), what);
  constexpr std::size_t kOwn = 3;
  check(file.pieces.size() > kOwn && file.unknown == 0, "{}: does not begin with <unk>, <s> and </s> as XLM-RoBERTa's",
        what);
  constexpr const char* kFirst[] = {"<s>", "<pad>", "</s>", "<unk>"};
  Vocabulary tokens;
  TokenId next = 0;
  for (const char* token : kFirst) tokens.add(token, next++);
  for (std::size_t i = kOwn; i < file.pieces.size(); ++i) tokens.add(file.pieces[i].text, next++);
  tokens.add("<mask>", next);
  Json added = Json::array();
  for (const char* token : {"<s>", "<pad>", "</s>", "<unk>", "<mask>"})
    added.push_back({{"content", token}, {"id", *tokens.find(token)}, {"special", true}, {"normalized", false}});
  added.back()["lstrip"] = true;
  const Json post = {{"type", "TemplateProcessing"},
                     {"single", Json::array({special("<s>"), sequence("A"), special("</s>")})},
                     {"pair", Json::array({special("<s>"), sequence("A"), special("</s>"), special("</s>"),
                                           sequence("B"), special("</s>")})},
                     {"special_tokens",
                      {{"<s>", {{"ids", {0}}, {"tokens", {"<s>"}}}}, {"</s>", {{"ids", {2}}, {"tokens", {"</s>"}}}}}}};
  Tokenizer tokenizer;
  tokenizer.normalizer_ = std::make_unique<SentencePieceNormalizer>(file, what);
  tokenizer.model_ = std::make_unique<MarianModel>(sentencepiece_model(file, what), std::move(tokens));
  tokenizer.decoder_ = std::make_unique<SentencePieceDecoder>(file);
  tokenizer.post_processor_ = make_post_processor(JsonView(post, what));
  tokenizer.add_tokens(JsonView(added, what));
  tokenizer.find_surroundings();
  return tokenizer;
}

Tokenizer Tokenizer::load(const fs::path& path) {
  const auto from_json = [](const Json& json, const fs::path& file) {
    return Tokenizer(JsonView(json, file.string()));
  };
  if (is_folder(path)) {
    if (path_exists(path / "tokenizer.json")) return load(path / "tokenizer.json");
    for (const auto& [vocabulary, merges] : kGpt2Names)
      if (path_exists(path / vocabulary) && path_exists(path / merges)) return load(path / vocabulary);
    if (path_exists(path / "vocab.txt")) return load(path / "vocab.txt");
    if (path_exists(path / "source.spm")) return load_marian(path, "source.spm");
    for (const char* name : kSentencePieceNames)
      if (path_exists(path / name)) return load(path / name);
    fail(
        "{}: has no tokenizer: neither tokenizer.json, vocab.json with merges.txt, encoder.json with vocab.bpe, "
        "vocab.txt, source.spm with target.spm and vocab.json, spiece.model, sentencepiece.bpe.model nor "
        "tokenizer.model",
        path.string());
  }
  const std::string name = path.filename().string();
  const fs::path folder = path.parent_path();
  for (const auto& [vocabulary, merges] : kGpt2Names) {
    if (name != vocabulary && name != merges) continue;
    if (name == "vocab.json" && !path_exists(folder / merges) && path_exists(folder / "source.spm"))
      return load_marian(folder, "source.spm");
    return from_json(read_gpt2_files(folder / vocabulary, folder / merges), path);
  }
  if (name.ends_with(".txt")) return from_json(read_bert_vocabulary(path), path);
  if (name.ends_with(".model") && is_xlm_roberta(folder)) return load_xlm_roberta(path);
  if (name.ends_with(".model") || name.ends_with(".spm")) return parse_sentencepiece(read_file(path), path.string());
  Json json = parse_json(read_file(path), path.string());
  apply_bert_switches(json, folder);
  return from_json(json, path);
}

Tokenizer Tokenizer::load_target(const fs::path& path) {
  const fs::path folder = is_folder(path) ? path : path.parent_path();
  const bool other = is_folder(path) && (path_exists(path / "tokenizer.json") || path_exists(path / "merges.txt"));
  const bool marian =
      !other && path_exists(folder / "source.spm") && (is_folder(path) || path.filename().string() == "vocab.json");
  return marian ? load_marian(folder, "target.spm") : load(path);
}

}  // namespace attend::text
