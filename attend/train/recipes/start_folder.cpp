#include "attend/train/recipes/start_folder.h"

#include <algorithm>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/base/progress.h"
#include "attend/tasks/model_folder.h"
#include "attend/text/learn/bpe_trainer.h"
#include "attend/text/learn/word_piece_trainer.h"

namespace attend::train {

namespace {

namespace fs = std::filesystem;

constexpr const char* kTokenizerFiles[] = {"tokenizer.json", "vocab.json", "vocab.txt"};
constexpr const char* kBesideThem[] = {"merges.txt", "tokenizer_config.json", "special_tokens_map.json", "source.spm",
                                       "target.spm"};
constexpr const char* kRobertaTokens[] = {"<s>", "<pad>", "</s>", "<unk>", "<mask>"};

// Byte-level BPE with RoBERTa's tokens around the text; a mask takes the space before it along, as a word does.
std::string roberta_tokenizer(const text::TrainedBpe& trained) {
  Json json = Json::parse(text::to_tokenizer_json(trained));
  for (auto& token : json["added_tokens"])
    if (token["content"] == "<mask>") token["lstrip"] = true;
  json["post_processor"] = {{"type", "RobertaProcessing"},
                            {"sep", Json::array({"</s>", 2})},
                            {"cls", Json::array({"<s>", 0})},
                            {"trim_offsets", true},
                            {"add_prefix_space", false}};
  return json.dump(1) + "\n";
}

}  // namespace

fs::path tokenizer_file(const fs::path& folder) {
  for (const char* name : kTokenizerFiles)
    if (fs::exists(folder / name)) return folder / name;
  fail("{}: has no tokenizer: neither tokenizer.json, vocab.json nor vocab.txt", folder.string());
}

fs::path start_folder(const std::string& from, const fs::path& out) {
  fs::path folder = tasks::find_model(from);
  std::error_code ignored;
  check(!fs::equivalent(folder, out, ignored), "training: 'from' and 'out' are the same folder, {}", out.string());
  return folder;
}

std::string given_tokenizer(const fs::path& given) {
  const fs::path file = fs::is_directory(given) ? given / "tokenizer.json" : given;
  text::Tokenizer::load(file);
  return read_file(file);
}

void copy_tokenizer(const fs::path& from, const fs::path& folder) {
  const bool whole = fs::is_directory(from);
  const fs::path file = whole ? tokenizer_file(from) : from;
  text::Tokenizer::load(file);  // an error names where it came from
  const auto copy = [&](const fs::path& path, const fs::path& name) { write_file(folder / name, read_file(path)); };
  const bool known = std::ranges::find(kTokenizerFiles, file.filename().string()) != std::end(kTokenizerFiles);
  copy(file, known ? file.filename() : fs::path("tokenizer.json"));
  for (const char* name : kBesideThem)
    if (fs::exists(file.parent_path() / name) && (whole || known)) copy(file.parent_path() / name, name);
}

void learn_tokenizer(const LearnedTokenizer& wanted, const fs::path& folder, const TrainOptions& options) {
  Progress progress(options.messages,
                    {.label = "learning tokens", .total = wanted.vocabulary_size, .terminal = options.terminal});
  const auto size = static_cast<std::size_t>(wanted.vocabulary_size);
  const auto on_progress = [&](std::size_t tokens) { progress.update(static_cast<std::int64_t>(tokens)); };
  const bool roberta = wanted.family == models::BertFamily::roberta;
  Json config = {{"tokenizer_class", roberta ? "RobertaTokenizer" : "BertTokenizer"},
                 {"model_max_length", wanted.max_length}};
  if (roberta) {
    text::BpeTrainer trainer({.vocabulary_size = size,
                              .special_tokens = {std::begin(kRobertaTokens), std::end(kRobertaTokens)},
                              .threads = wanted.threads,
                              .on_progress = on_progress});
    for (const std::string& text : wanted.texts) trainer.add_file(text);
    trainer.add_text(wanted.lines);
    write_file(folder / "tokenizer.json", roberta_tokenizer(trainer.train()));
  } else {
    text::WordPieceTrainer trainer({.vocabulary_size = size, .threads = wanted.threads, .on_progress = on_progress});
    for (const std::string& text : wanted.texts) trainer.add_file(text);
    trainer.add_text(wanted.lines);
    write_file(folder / "tokenizer.json", trainer.train());
    config["do_lower_case"] = true;
  }
  progress.finish();
  write_file(folder / "tokenizer_config.json", config.dump(2) + "\n");
}

SpecialTokens special_tokens(const text::Tokenizer& tokenizer, const std::string& what) {
  const auto find = [&](const char* bert, const char* roberta) {
    const auto id = tokenizer.token_to_id(bert);
    return id ? id : tokenizer.token_to_id(roberta);
  };
  const auto start = find("[CLS]", "<s>"), end = find("[SEP]", "</s>"), pad = find("[PAD]", "<pad>");
  check(start && end && pad, "{}: the tokenizer has no {}", what,
        !start ? "[CLS] or <s>"
        : !end ? "[SEP] or </s>"
               : "[PAD] or <pad>");
  return {.start = *start, .end = *end, .pad = *pad, .mask = find("[MASK]", "<mask>").value_or(-1)};
}

std::vector<std::int32_t> ordinary_tokens(const text::Tokenizer& tokenizer) {
  std::vector<std::int32_t> special, ordinary;
  for (const text::AddedToken& token : tokenizer.added_tokens())
    if (token.special) special.push_back(token.id);
  for (std::int32_t id = 0; id < tokenizer.id_limit(); ++id)
    if (tokenizer.id_to_token(id) && std::ranges::find(special, id) == special.end()) ordinary.push_back(id);
  return ordinary;
}

}  // namespace attend::train
