#include "attend/text/files/vocabulary_files.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/base/lines.h"
#include "attend/base/paths.h"
#include "attend/base/unicode/unicode.h"
#include "attend/text/json_view.h"

namespace attend::text {

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

Json added_token(const std::string& content, const Json& id, bool special = true) {
  return {{"id", id}, {"content", content}, {"special", special}, {"normalized", !special}};
}

// A token of tokenizer_config.json or special_tokens_map.json: a text, or an object with its "content".
std::string token_text(const JsonView& view, const std::string& key, std::string_view otherwise) {
  const auto found = view.find(key);
  if (!found) return std::string(otherwise);
  return found->value().is_object() ? (*found)["content"].text() : found->text();
}

// Tokens that files beside the vocabulary add to it: added_tokens.json ({"token": id}), and added_tokens_decoder of
// tokenizer_config.json ({"id": {"content": .., "lstrip": ..}}), which knows more. What special_tokens_map.json names
// is special.
void add_tokens_beside(const fs::path& vocabulary, Json& added) {
  const auto put = [&](Json token) {
    for (Json& each : added)
      if (each["content"] == token["content"]) {
        each = std::move(token);
        return;
      }
    added.push_back(std::move(token));
  };
  std::vector<std::string> special;
  const Json map = read_beside(vocabulary, "special_tokens_map.json");
  for (const auto& [key, value] : map.items())
    for (const Json& each : value.is_array() ? value : Json::array({value})) {
      const Json& token = each.is_object() ? each["content"] : each;
      if (token.is_string()) special.push_back(token.get<std::string>());
    }
  const Json listed = read_beside(vocabulary, "added_tokens.json");
  for (const auto& [token, id] : listed.items()) put(added_token(token, id, std::ranges::count(special, token) > 0));
  const Json config = read_beside(vocabulary, "tokenizer_config.json");
  const std::string what = (vocabulary.parent_path() / "tokenizer_config.json").string();
  const auto decoder = JsonView(config, what).find("added_tokens_decoder");
  if (!decoder) return;
  if (!decoder->value().is_object()) decoder->complain("must be an object");
  for (const auto& [number, settings] : decoder->value().items()) {
    const std::int64_t id = number.size() < 10 ? std::strtol(number.c_str(), nullptr, 10) : -1;
    if (std::to_string(id) != number || !settings.is_object()) decoder->complain("has no id and token at {}", number);
    Json token = settings;
    token["id"] = id;
    put(std::move(token));
  }
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
  const bool roberta = kind.find("oberta") != kind.npos || kind.find("ongformer") != kind.npos;
  Json added = Json::array();
  for (const char* token : {"<|endoftext|>", "<s>", "<pad>", "</s>", "<unk>", "<mask>"})
    if (vocab.contains(token)) added.push_back(added_token(token, vocab[token]));
  if (roberta && vocab.contains("<mask>")) added.back()["lstrip"] = true;  // " <mask>" is one token
  add_tokens_beside(vocabulary, added);
  const Json byte_level = {{"type", "ByteLevel"}, {"add_prefix_space", prefix}, {"trim_offsets", true}};
  Json post = byte_level;
  post["trim_offsets"] = false;
  if (roberta && vocab.contains("<s>") && vocab.contains("</s>")) {
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
  const Json model = read_beside(path, "config.json");
  const bool mpnet = JsonView(model, "config.json").text("model_type", "") == "mpnet";
  const std::string unknown = token_text(view, "unk_token", "[UNK]"),
                    start = token_text(view, "cls_token", mpnet ? "<s>" : "[CLS]"),
                    separator = token_text(view, "sep_token", mpnet ? "</s>" : "[SEP]"),
                    pad = token_text(view, "pad_token", mpnet ? "<pad>" : "[PAD]"),
                    mask = token_text(view, "mask_token", mpnet ? "<mask>" : "[MASK]");
  Json post = {{"type", mpnet ? "RobertaProcessing" : "BertProcessing"}};  // which puts two separators between texts
  post["sep"] = Json::array({separator, id_of(separator)});
  post["cls"] = Json::array({start, id_of(start)});
  id_of(unknown);
  Json added = Json::array();
  for (const std::string& token : {pad, unknown, start, separator, mask})
    if (vocab.contains(token)) added.push_back(added_token(token, vocab[token]));
  if (mpnet && vocab.contains(mask)) added.back()["lstrip"] = true;
  add_tokens_beside(path, added);
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

}  // namespace attend::text
