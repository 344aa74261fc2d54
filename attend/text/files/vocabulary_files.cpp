#include "attend/text/files/vocabulary_files.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/base/lines.h"
#include "attend/base/paths.h"
#include "attend/base/unicode/unicode.h"
#include "attend/text/json_view.h"

namespace attend {

namespace {

namespace fs = std::filesystem;

Json read_object(const fs::path& path) {
  Json json = parse_json(read_file(path), path.string());
  check(json.is_object(), "{}: must be an object", path.string());
  return json;
}

// A file that may be there.
Json read_beside(const fs::path& file, const char* name) {
  const fs::path path = file.parent_path() / name;
  return path_exists(path) ? read_object(path) : Json::object();
}

// Calls take(line, number) for each line; numbers begin at 0.
template <class Take>
void for_each_line(const fs::path& path, const Take& take) {
  const std::string text = read_text(path);
  if (const auto bad = find_invalid_utf8(text)) fail("{}: is not UTF-8 at byte {}", path.string(), *bad);
  std::string_view rest = text;
  for (std::size_t number = 0; !rest.empty(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    take(line, number);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

Json added_token(const std::string& content, const Json& id) {
  return {{"id", id}, {"content", content}, {"special", true}, {"normalized", false}};
}

// "[UNK]", or as transformers writes it with its flags, {"content": "[UNK]", "lstrip": false, ..}.
std::string token_text(const JsonView& config, const char* key, const char* otherwise) {
  const auto token = config.find(key);
  if (!token) return otherwise;
  return token->value().is_object() ? (*token)["content"].text() : token->text();
}

}  // namespace

Json read_gpt2_files(const fs::path& vocabulary, const fs::path& merges) {
  Json vocab = read_object(vocabulary);
  Json pairs = Json::array();
  for_each_line(merges, [&](std::string_view line, std::size_t number) {
    if (line.empty() || (number == 0 && line.starts_with("#version"))) return;
    pairs.push_back(line);
  });
  const Json config = read_beside(vocabulary, "tokenizer_config.json");
  const Json model = read_beside(vocabulary, "config.json");
  const JsonView view(config, (vocabulary.parent_path() / "tokenizer_config.json").string());
  const bool prefix = view.boolean("add_prefix_space", false);
  const std::string kind = view.text("tokenizer_class", "") + JsonView(model, "config.json").text("model_type", "");
  Json added = Json::array();
  for (const char* token : {"<|endoftext|>", "<s>", "<pad>", "</s>", "<unk>", "<mask>"})
    if (vocab.contains(token)) added.push_back(added_token(token, vocab[token]));
  const Json byte_level = {{"type", "ByteLevel"}, {"add_prefix_space", prefix}, {"trim_offsets", true}};
  Json post = byte_level;
  post["trim_offsets"] = false;
  if (kind.find("oberta") != kind.npos && vocab.contains("<s>") && vocab.contains("</s>")) {
    post["type"] = "RobertaProcessing";
    post["trim_offsets"] = true;
    post["sep"] = {"</s>", vocab["</s>"]};
    post["cls"] = {"<s>", vocab["<s>"]};
  }
  return {{"added_tokens", std::move(added)},
          {"pre_tokenizer", byte_level},
          {"post_processor", std::move(post)},
          {"decoder", byte_level},
          {"model", {{"type", "BPE"}, {"vocab", std::move(vocab)}, {"merges", std::move(pairs)}}}};
}

Json read_bert_vocabulary(const fs::path& path) {
  Json vocab = Json::object();
  for_each_line(path, [&](std::string_view line, std::size_t number) { vocab[std::string(line)] = number; });
  const Json config = read_beside(path, "tokenizer_config.json");
  const JsonView view(config, (path.parent_path() / "tokenizer_config.json").string());
  const auto id_of = [&](const std::string& token) {
    check(vocab.contains(token), "{}: has no line {}", path.string(), token);
    return vocab[token];
  };
  const std::string unknown = token_text(view, "unk_token", "[UNK]"), start = token_text(view, "cls_token", "[CLS]"),
                    separator = token_text(view, "sep_token", "[SEP]");
  Json post = {{"type", "BertProcessing"}};
  post["sep"] = Json::array({separator, id_of(separator)});
  post["cls"] = Json::array({start, id_of(start)});
  id_of(unknown);
  Json added = Json::array();
  for (const std::string& token : {std::string("[PAD]"), unknown, start, separator, std::string("[MASK]")})
    if (vocab.contains(token)) added.push_back(added_token(token, vocab[token]));
  Json normalizer = {{"type", "BertNormalizer"},
                     {"lowercase", view.boolean("do_lower_case", true)},
                     {"handle_chinese_chars", view.boolean("tokenize_chinese_chars", true)}};
  if (const auto strip = view.find("strip_accents")) normalizer["strip_accents"] = strip->boolean();
  return {{"added_tokens", std::move(added)},
          {"normalizer", std::move(normalizer)},
          {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
          {"post_processor", std::move(post)},
          {"decoder", {{"type", "WordPiece"}}},
          {"model", {{"type", "WordPiece"}, {"unk_token", unknown}, {"vocab", std::move(vocab)}}}};
}

}  // namespace attend
